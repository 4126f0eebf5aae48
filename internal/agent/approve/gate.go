package approve

import "sync"

// Gate is asked before each call of a tool.
type Gate struct {
	mu    sync.Mutex
	asker Asker
}

// SetAsker gives the gate somebody to ask; nil is nobody.
func (g *Gate) SetAsker(a Asker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asker = a
}
