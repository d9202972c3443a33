/** Text of the list to look up. It is too long for the address, so it lives as long as the page. */
export const pastedList = $state({ text: "" });
