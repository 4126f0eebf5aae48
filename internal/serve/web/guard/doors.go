package guard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"
)

const (
	linkTime     = time.Minute
	sessionTime  = 7 * 24 * time.Hour
	mostSessions = 100 // the oldest end when there are more
)

// Doors are the ways in: a link that works once and for a minute, and the sessions of the browsers
// that came by one. They end with the server, since nothing of them is kept.
type Doors struct {
	Now func() time.Time

	mu       sync.Mutex
	link     [sha256.Size]byte // of the newest link; those before it are void
	until    time.Time         // when the link expires; zero if it was used or none was made
	sessions map[[sha256.Size]byte]*session
}

type session struct {
	since time.Time
	ctx   context.Context
	end   context.CancelFunc
}

// Code is 256 random bits.
func Code() string {
	b := make([]byte, 32)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// Link makes the code of a new link, in the place of the one before.
func (d *Doors) Link() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.newLink()
}

func (d *Doors) newLink() string {
	code := Code()
	d.link, d.until = sha256.Sum256([]byte(code)), d.Now().Add(linkTime)
	return code
}

// LinkIfNone makes a new link if the one before was used or is over, and is "" otherwise.
func (d *Doors) LinkIfNone() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Now().Before(d.until) {
		return ""
	}
	return d.newLink()
}

// Open uses up a link, and begins a session. What comes back is for its cookie; "" if the code is
// not that of a link that still works.
func (d *Doors) Open(code string) string {
	hash := sha256.Sum256([]byte(code))
	d.mu.Lock()
	defer d.mu.Unlock()
	if hash != d.link || !d.Now().Before(d.until) {
		return ""
	}
	d.until = time.Time{}
	if d.sessions == nil {
		d.sessions = map[[sha256.Size]byte]*session{}
	}
	var oldest [sha256.Size]byte
	for h, s := range d.sessions {
		if o := d.sessions[oldest]; o == nil || s.since.Before(o.since) {
			oldest = h
		}
	}
	if len(d.sessions) >= mostSessions {
		d.sessions[oldest].end()
		delete(d.sessions, oldest)
	}
	value := Code()
	s := &session{since: d.Now()}
	s.ctx, s.end = context.WithCancel(context.Background())
	d.sessions[sha256.Sum256([]byte(value))] = s
	return value
}

// Session is the context of a session, which ends with it; nil if the cookie is not one of a
// session.
func (d *Doors) Session(cookie string) context.Context {
	hash := sha256.Sum256([]byte(cookie))
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sessions[hash]
	if s == nil {
		return nil
	}
	if d.Now().Sub(s.since) > sessionTime {
		s.end()
		delete(d.sessions, hash)
		return nil
	}
	return s.ctx
}

// Close ends a session.
func (d *Doors) Close(cookie string) {
	hash := sha256.Sum256([]byte(cookie))
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.sessions[hash]; s != nil {
		s.end()
		delete(d.sessions, hash)
	}
}
