/** Puts a text where other programs paste from; gives whether it is there. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text); // which browsers have for https and this machine alone
    return true;
  } catch {
    return false;
  }
}
