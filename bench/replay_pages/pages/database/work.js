importScripts("/sieve.js");
onmessage = async ({ data }) => {
  const { items } = await (await fetch("https://api.example/items?page=3")).json();
  postMessage(`The worker found ${primes(data).length} primes below ${data}, and ${items.length} items`);
};
