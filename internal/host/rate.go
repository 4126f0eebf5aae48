package host

import (
	"net/http"
	"sync"
	"tape/internal/host/api"
	"time"
)

const (
	ratePerSecond = 20
	rateBurst     = 40
)

// bucket bounds how often a run calls.
type bucket struct {
	mu     sync.Mutex
	spent  float64
	filled time.Time
}

func (b *bucket) take(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = max(0, b.spent-now.Sub(b.filled).Seconds()*ratePerSecond)
	b.filled = now
	if b.spent+1 > rateBurst {
		p := api.NewProblem(http.StatusTooManyRequests, "rate_limited", "too many requests: %d a second, at most %d at once", ratePerSecond, rateBurst)
		p.Retryable = true
		p.After = time.Duration((b.spent + 1 - rateBurst) / ratePerSecond * float64(time.Second))
		return p
	}
	b.spent++
	return nil
}
