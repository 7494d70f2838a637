// Runs first in every worker of a page. The policy of a worker does not cover WebTransport. A worker
// of a blob does not come from the server, so this script is put before its own.
self.weftInWorker = function prepare() {
  delete self.weftInWorker;
  delete self.WebTransport;
  const { createObjectURL } = URL;
  const NativeBlob = Blob;
  const NativeRequest = XMLHttpRequest;
  const prepared = (url) => {
    if (!/^\s*blob:/i.test(url)) return url;
    const request = new NativeRequest();
    request.open("GET", String(url), false);
    request.send();
    return createObjectURL(new NativeBlob(["(" + prepare + ")();", request.responseText], { type: "text/javascript" }));
  };
  for (const name of ["Worker", "SharedWorker"]) {
    const Native = self[name];
    if (!Native) continue;
    const value = new Proxy(Native, { construct: (target, [url, options]) => new target(prepared(url), options) });
    Object.defineProperty(self, name, { configurable: true, writable: true, value });
    Native.prototype.constructor = value;
  }
};
