/**
 * Encode ids as a short text for a URL: the differences of the sorted ids as 7-bit variable-length integers in
 * base64url.
 */
export function encodeIds(ids: Iterable<number>): string {
  const bytes: number[] = [];
  let previous = -1;
  for (const id of [...new Set(ids)].sort((a, b) => a - b)) {
    let step = id - previous - 1;
    for (; step > 127; step >>>= 7) bytes.push((step & 127) | 128);
    bytes.push(step);
    previous = id;
  }
  const text = bytes.map((byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Decode the ids of such a text; null if the text is malformed. */
export function decodeIds(text: string): number[] | null {
  const ids: number[] = [];
  let [previous, step, shift] = [-1, 0, 0];
  for (const byte of decodeBase64url(text) ?? [128]) {
    step += (byte & 127) * 2 ** shift;
    shift += 7;
    if (byte > 127) continue;
    previous += step + 1;
    if (previous >= 2 ** 31) return null;
    ids.push(previous);
    [step, shift] = [0, 0];
  }
  return shift === 0 ? ids : null;
}

function decodeBase64url(text: string): Uint8Array | null {
  try {
    const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(bytes, (byte) => byte.charCodeAt(0));
  } catch {
    return null;
  }
}
