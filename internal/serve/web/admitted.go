package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"
)

const (
	linkTime    = time.Minute
	sessionTime = 7 * 24 * time.Hour
	maxSessions = 100 // before another one begins, the oldest one ends
)

// browserDoors admits browsers: with a link, which works once and for a minute, a browser gets a session.
// Links and sessions end with the server, because they are not stored.
type browserDoors struct {
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

// newCode returns 256 random bits in base64, for URLs and cookies.
func newCode() string {
	b := make([]byte, 32)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// Link returns the code of a new link. It replaces the former one, which no longer works.
func (d *browserDoors) Link() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.newLink()
}

func (d *browserDoors) newLink() string {
	code := newCode()
	d.link, d.until = sha256.Sum256([]byte(code)), d.Now().Add(linkTime)
	return code
}

// LinkIfNone is Link if the last link was used or has expired; otherwise it returns "".
func (d *browserDoors) LinkIfNone() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Now().Before(d.until) {
		return ""
	}
	return d.newLink()
}

// Open uses up a link, and begins a session. It returns the value for the session's cookie, or "" if no link with
// that code works.
func (d *browserDoors) Open(code string) string {
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
	if len(d.sessions) >= maxSessions {
		d.sessions[oldest].end()
		delete(d.sessions, oldest)
	}
	value := newCode()
	s := &session{since: d.Now()}
	s.ctx, s.end = context.WithCancel(context.Background())
	d.sessions[sha256.Sum256([]byte(value))] = s
	return value
}

// Session returns the context of a cookie's session, which ends with the session; nil if there is
// none.
func (d *browserDoors) Session(cookie string) context.Context {
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
func (d *browserDoors) Close(cookie string) {
	hash := sha256.Sum256([]byte(cookie))
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.sessions[hash]; s != nil {
		s.end()
		delete(d.sessions, hash)
	}
}
