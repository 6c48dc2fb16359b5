// Caches the files of the site, so that it works without a connection.
//
// `cgru convert` writes VERSION and FILES above. The model is cached when the page first loads it.

const NAME = `${registration.scope} ${VERSION}`;

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(FILES)));
});

addEventListener("activate", (event) => event.waitUntil(begin()));

addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && url.startsWith(registration.scope)) event.respondWith(kept(event.request));
});

async function begin() {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith(`${registration.scope} `) && name !== NAME);
  await Promise.all(old.map((name) => caches.delete(name)));
  await clients.claim();
}

async function kept(request) {
  const cache = await caches.open(NAME);
  const found = await cache.match(request, { ignoreSearch: true });
  if (found) return found;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}
