const MINUTE = 60_000;

/** Let the browser save a file. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser may still be reading the file, so its URL is revoked later.
  setTimeout(() => URL.revokeObjectURL(url), MINUTE);
}
