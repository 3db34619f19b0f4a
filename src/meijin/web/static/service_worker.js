// @ts-nocheck: a worker of another kind, whose scope has types of its own
/** Keeps a published page for visits without a connection. `meijin publish` fills in its version and files. */

const VERSION = "", FILES = [];
const SCOPE = `meijin ${self.registration.scope} `, CACHE = SCOPE + VERSION;

addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});

addEventListener("activate", (event) => {
  const old = (name) => name.startsWith(SCOPE) && name !== CACHE;
  const removed = caches.keys().then((names) => Promise.all(names.filter(old).map((name) => caches.delete(name))));
  event.waitUntil(removed.then(() => clients.claim()));
});

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) return;
  event.respondWith((async () => {
    const cache = await caches.open(CACHE), kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
    const found = await fetch(request);
    if (found.ok) cache.put(request, found.clone());
    return found;
  })());
});
