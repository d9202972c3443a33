/** The list that is looked up: too long for an address, and there as long as the page is. */
export const pastedList = $state({ text: "" });
