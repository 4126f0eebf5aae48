package admission

import (
	"net/http"
	"sync"
	"time"

	"tape/internal/serve/host/api"
)

// How often a run may make requests.
const (
	RatePerSecond = 20
	RateBurst     = 40
)

// Rate limits how often a run makes requests.
type Rate struct {
	mu     sync.Mutex
	spent  float64
	filled time.Time
}

// Allow counts one request, or says when to try again.
func (b *Rate) Allow(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = max(0, b.spent-now.Sub(b.filled).Seconds()*RatePerSecond)
	b.filled = now
	if b.spent+1 > RateBurst {
		p := api.NewProblem(http.StatusTooManyRequests, "rate_limited", "too many requests: %d a second, at most %d at once", RatePerSecond, RateBurst)
		p.Retryable = true
		p.After = time.Duration((b.spent + 1 - RateBurst) / RatePerSecond * float64(time.Second))
		return p
	}
	b.spent++
	return nil
}
