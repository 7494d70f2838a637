const primes = (below) => { const found = []; for (let n = 2; n < below; n++) if (found.every((prime) => n % prime)) found.push(n); return found; };
