package front

import (
	"cmp"
	"net/http"
	"sync"
	"time"

	"tape/internal/serve/host/api"
)

// How often a run may make requests.
const (
	ratePerSecond = 20
	RateBurst     = 40
)

// Rate limits how often a run does something. If PerSecond and Burst are zero, the limits for requests apply.
type Rate struct {
	PerSecond, Burst float64

	mu     sync.Mutex
	spent  float64
	filled time.Time
}

// Allow counts one request, or says when to try again.
func (b *Rate) Allow(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	perSecond, burst := cmp.Or(b.PerSecond, ratePerSecond), cmp.Or(b.Burst, RateBurst)
	b.spent = max(0, b.spent-now.Sub(b.filled).Seconds()*perSecond)
	b.filled = now
	if b.spent+1 > burst {
		p := api.NewProblem(http.StatusTooManyRequests, "rate_limited", "too many requests: %v a second, at most %v at once", perSecond, burst)
		p.Retryable = true
		p.After = time.Duration((b.spent + 1 - burst) / perSecond * float64(time.Second))
		return p
	}
	b.spent++
	return nil
}

// Refund takes back one request that Allow has counted.
func (b *Rate) Refund() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent--
}
