package gitobject

import "sync"

// keptBytes bounds the objects that are kept.
const keptBytes = 32 << 20

// Cache holds objects that were read lately, while somebody wants them kept.
type Cache struct {
	mu      sync.Mutex
	users   int
	objects generations[Hash]
}

// Cached is an object.
type Cached struct {
	Kind Kind
	Data []byte
}

// Use counts who wants objects kept: 1 for one more, -1 for one less.
func (k *Cache) Use(more int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.users += more; k.users == 0 {
		k.objects = generations[Hash]{}
	}
}

// Get returns an object that is kept.
func (k *Cache) Get(h Hash) (Cached, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.objects.get(h)
}

// Put keeps an object, if somebody wants that.
func (k *Cache) Put(h Hash, o Cached) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.users > 0 {
		k.objects.put(h, o)
	}
}

// generations are objects of keptBytes: a full younger half takes the older one's place.
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
	const overhead = 128 // of an object in a map
	if len(o.Data) > keptBytes/8 {
		return
	}
	g.bytes += len(o.Data) + overhead
	if g.young == nil || g.bytes > keptBytes/2 {
		g.old, g.young, g.bytes = g.young, map[K]Cached{}, len(o.Data)+overhead
	}
	g.young[key] = o
}
