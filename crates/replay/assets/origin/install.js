// The small page of the first visit to the origin of an archived site. It installs the worker and
// loads the address again. It contains no captures.
"use strict";
(async () => {
  const TRIES = "weft-tries";
  // The archive's page around this one waits for this message, or shows the page in another way. The
  // frame of an archived page tells nothing to that page.
  const tell = (weft) => { if (parent === top) top.postMessage({ weft }, "*"); };
  // The worker stays, because it answers the requests of documents that are open.
  const clear = async () => {
    localStorage.clear();
    sessionStorage.clear();
    for (const { name } of await indexedDB.databases()) indexedDB.deleteDatabase(name);
    for (const name of await caches.keys()) await caches.delete(name);
    const files = await navigator.storage.getDirectory();
    for await (const name of files.keys()) await files.removeEntry(name, { recursive: true });
  };
  try {
    if (location.pathname === "/__weft/clear") {
      if (parent === top) await clear();
      tell("cleared");
      return;
    }
    tell("installing");
    // A browser that never gives the page to the worker must not load it forever.
    const tries = Number(sessionStorage.getItem(TRIES)) + 1;
    sessionStorage.setItem(TRIES, tries);
    if (tries > 3) throw new Error("the worker does not answer");
    // The script at the head of documents depends on these two: it prepares the window of an empty
    // frame before a script can use it, and it sees where a script navigates to.
    let isInTime = false;
    document.addEventListener("load", () => { isInTime = true; }, true);
    const frame = document.createElement("iframe");
    document.body.append(frame);
    if (!isInTime || !window.navigation) throw new Error("the browser cannot keep it in the archive");
    frame.remove();
    const registration = await navigator.serviceWorker.register("/__weft/worker.js", { scope: "/", updateViaCache: "none" });
    const worker = registration.installing || registration.waiting || registration.active;
    await new Promise((resolve, reject) => {
      const check = () => {
        if (worker.state === "activated") resolve();
        if (worker.state === "redundant") reject(new Error("the worker was replaced"));
      };
      worker.addEventListener("statechange", check);
      check();
    });
    // Documents in attributes must have the worker, too. After a forced reload this page has none.
    if (navigator.serviceWorker.controller) {
      const inner = document.createElement("iframe");
      inner.srcdoc = "x";
      await new Promise((resolve) => { inner.addEventListener("load", resolve); document.body.append(inner); });
      if (!inner.contentWindow.navigator.serviceWorker.controller) throw new Error("the browser does not give it all requests");
    }
    location.reload();
  } catch (error) {
    document.getElementById("state").textContent = "This page cannot be shown here: " + error.message + ".";
    tell("no-origin");
  }
})();
