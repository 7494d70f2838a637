export const greet = (name) => `Good day, ${name}, from ${new URL(import.meta.url).pathname}`;
