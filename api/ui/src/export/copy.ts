/** Copy a text to the clipboard. Return whether that succeeded. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text); // Browsers offer the clipboard over HTTPS and on localhost only.
    return true;
  } catch {
    return false;
  }
}
