package gitobject

import "sync"

// cacheBytes is the limit of a cache in bytes.
const cacheBytes = 32 << 20

// Cache holds recently read objects, as long as it has users.
type Cache struct {
	mu      sync.Mutex
	users   int
	objects generations
}

// Cached is an object in a cache.
type Cached struct {
	Kind Kind
	Data []byte
}

// Use changes the number of users by n. Without users the cache is emptied and keeps nothing.
func (k *Cache) Use(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.users += n; k.users == 0 {
		k.objects = generations{}
	}
}

// Get returns an object if the cache has it.
func (k *Cache) Get(h Hash) (Cached, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.objects.get(place{hash: h})
}

// Put adds an object, if the cache has users and the object is not too large.
func (k *Cache) Put(h Hash, o Cached) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.users > 0 {
		k.objects.put(place{hash: h}, o)
	}
}

// place identifies a cached object: by its hash, or by its offset in a pack.
type place struct {
	hash   Hash
	pack   *pack
	offset int64
}

// generations caches objects, cacheBytes together at most, and none over an eighth of that. When the young half is
// full, it replaces the old half.
// It is not generic: each package that uses the type would be compiled with its own copy of the code.
type generations struct {
	young, old map[place]Cached
	bytes      int // of young
}

func (g *generations) get(key place) (Cached, bool) {
	o, ok := g.young[key]
	if !ok {
		if o, ok = g.old[key]; ok {
			g.put(key, o)
		}
	}
	return o, ok
}

func (g *generations) put(key place, o Cached) {
	const overhead = 128 // bytes that an object in a map costs besides its data
	if len(o.Data) > cacheBytes/8 {
		return
	}
	g.bytes += len(o.Data) + overhead
	if g.young == nil || g.bytes > cacheBytes/2 {
		g.old, g.young, g.bytes = g.young, map[place]Cached{}, len(o.Data)+overhead
	}
	g.young[key] = o
}
