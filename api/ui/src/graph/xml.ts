// everything that XML 1.0 does not allow
const INVALID_CHARACTERS = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** Escape a text for XML and remove characters that XML does not allow. */
export function escapeXml(text: string): string {
  return text.replaceAll(INVALID_CHARACTERS, "").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
