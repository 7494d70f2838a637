export const count = (text) => text.split(" ").length;
