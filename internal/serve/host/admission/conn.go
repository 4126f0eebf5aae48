package admission

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

// Listen accepts so many connections at once. For one more, the oldest on which no request with a known
// token came is closed; if there is none, it waits until a connection ends.
func Listen(l net.Listener, most int) net.Listener {
	out := &listener{Listener: l, most: most}
	out.ended.L = &out.mu
	return out
}

type listener struct {
	net.Listener
	most int

	mu     sync.Mutex
	ended  sync.Cond
	open   []*conn // the oldest first
	closed bool
}

func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.open) >= l.most && !l.closed {
		if i := slices.IndexFunc(l.open, func(c *conn) bool { return !c.known }); i >= 0 {
			_ = l.open[i].Conn.Close() // who serves it closes it again
			l.open = slices.Delete(l.open, i, i+1)
		} else {
			l.ended.Wait()
		}
	}
	if l.closed {
		return nil, errors.Join(net.ErrClosed, accepted.Close())
	}
	c := &conn{Conn: accepted, of: l}
	l.open = append(l.open, c)
	return c, nil
}

func (l *listener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.ended.Broadcast()
	return l.Listener.Close()
}

type conn struct {
	net.Conn
	of    *listener
	known bool // who sent a request on it; of.mu
}

func (c *conn) Close() error {
	c.of.mu.Lock()
	c.of.open = slices.DeleteFunc(c.of.open, func(o *conn) bool { return o == c })
	c.of.mu.Unlock()
	c.of.ended.Signal()
	return c.Conn.Close()
}

type connKey struct{}

// WithConn is the context of a connection's requests: for http.Server.ConnContext.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Known keeps the connection of a request when there are too many.
func Known(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		c.of.mu.Lock()
		c.known = true
		c.of.mu.Unlock()
	}
}

// How long clients may take.
const (
	HeaderTime = 10 * time.Second // to send the header of a request
	IdleTime   = time.Minute      // between requests
	bodyTime   = time.Minute      // to send a body
	pieceTime  = time.Minute      // to take a piece of an answer: who takes nothing for so long is left
	piece      = 16 << 10
	restTime   = time.Second // to send the rest of a body that nobody reads
	restMost   = 256 << 10   // of such a rest
)

// Writer writes an answer in pieces. A reader may be slow, but has to go on reading.
type Writer struct {
	http.ResponseWriter
	Until time.Time // when all of it ends; zero: never

	out *http.ResponseController
	set time.Time // when the deadline was set
}

// NewWriter wraps the writer of a request.
func NewWriter(w http.ResponseWriter) *Writer {
	return &Writer{ResponseWriter: w, out: http.NewResponseController(w)}
}

// Unwrap is for http.ResponseController.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *Writer) Write(data []byte) (n int, err error) {
	for {
		part := data[n:min(len(data), n+piece)]
		if err := w.extend(); err != nil {
			return n, err
		}
		m, err := w.ResponseWriter.Write(part)
		if n += m; err != nil || n == len(data) {
			return n, err
		}
	}
}

func (w *Writer) extend() error {
	now := time.Now()
	if now.Sub(w.set) < time.Second {
		return nil
	}
	w.set = now
	until := now.Add(pieceTime)
	if !w.Until.IsZero() && w.Until.Before(until) {
		until = w.Until
	}
	return supported(w.out.SetWriteDeadline(until))
}

// Body bounds the time in which a request's body has to come.
func Body(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	if r.ContentLength == 0 {
		return r.Body
	}
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Now().Add(bodyTime)) // where it is not supported there is no client that waits
	return &body{r.Body, out}
}

// Shorten bounds the rest of a body: by the end of a run, or because nobody will read it.
func Shorten(w http.ResponseWriter, r *http.Request, until time.Time) {
	if b, ok := r.Body.(*body); ok {
		if limit := time.Now().Add(bodyTime); until.After(limit) {
			until = limit
		}
		_ = b.out.SetReadDeadline(until)
	}
}

// Refuse bounds what is still read of a body after its request was refused.
func Refuse(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength > restMost || r.Header.Get("Expect") != "" {
		w.Header().Set("Connection", "close") // nothing of it is read
	}
	Shorten(w, r, time.Now().Add(restTime))
}

type body struct {
	io.ReadCloser
	out *http.ResponseController
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) { // a deadline would break off an answer that takes longer
		_ = b.out.SetReadDeadline(time.Time{})
	}
	return n, err
}

func supported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// ReadAll reads a body, for which the memory is taken from what all bodies have, until done is
// called.
func (l *Limits) ReadAll(r io.Reader) (data []byte, done func(), err error) {
	const step = 256 << 10
	var taken int64
	done = func() { l.bodies.give(taken); taken = 0 }
	for {
		if len(data) == cap(data) {
			more := int64(max(step, len(data))) // it doubles, and is copied
			if len(data) == 0 {
				more = 4 << 10
			} else if len(data) < step {
				more = int64(len(data))
			}
			if !l.bodies.take(more) {
				done()
				return nil, func() {}, Busy()
			}
			taken += more
			data = append(make([]byte, 0, int64(len(data))+more), data...)
		}
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, done, nil
		}
		if err != nil {
			done()
			return nil, func() {}, err
		}
	}
}

// Spool puts a content into a file, unless it is in one: what waits for a slow reader is on the
// disk. It closes what it has read.
func Spool(dir string, content io.ReadSeeker, from io.Closer) (_ io.ReadSeekCloser, err error) {
	if f, ok := content.(*os.File); ok {
		return f, nil
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	f, err := os.CreateTemp(dir, "waiting-")
	if err != nil {
		return nil, err
	}
	out := &spooled{f}
	_ = os.Remove(f.Name()) // where a file that is open can be removed; otherwise when it is closed
	if _, err = io.Copy(f, content); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

type spooled struct{ *os.File }

func (s *spooled) Close() error {
	err := s.File.Close()
	_ = os.Remove(s.Name())
	return err
}
