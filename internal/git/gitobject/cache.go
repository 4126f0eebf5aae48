package gitobject

import "sync"

// cacheBytes is the most that a cache holds.
const cacheBytes = 32 << 20

// Cache holds recently read objects, as long as it has users.
type Cache struct {
	mu      sync.Mutex
	users   int
	objects generations[Hash]
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
		k.objects = generations[Hash]{}
	}
}

// Get returns an object if the cache has it.
func (k *Cache) Get(h Hash) (Cached, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.objects.get(h)
}

// Put adds an object, if the cache has users.
func (k *Cache) Put(h Hash, o Cached) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.users > 0 {
		k.objects.put(h, o)
	}
}

// generations holds objects of cacheBytes. When the young half is full, it replaces the old one.
type generations[K comparable] struct {
	young, old map[K]Cached
	bytes      int // of young
}

func (g *generations[K]) get(key K) (Cached, bool) {
	o, ok := g.young[key]
	if !ok {
		if o, ok = g.old[key]; ok {
			g.put(key, o)
		}
	}
	return o, ok
}

func (g *generations[K]) put(key K, o Cached) {
	const overhead = 128 // bytes that an object in a map costs besides its data
	if len(o.Data) > cacheBytes/8 {
		return
	}
	g.bytes += len(o.Data) + overhead
	if g.young == nil || g.bytes > cacheBytes/2 {
		g.old, g.young, g.bytes = g.young, map[K]Cached{}, len(o.Data)+overhead
	}
	g.young[key] = o
}
