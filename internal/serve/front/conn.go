package front

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

// Listen accepts at most limit connections at once. For one more, it closes the oldest without an
// authenticated request, or else the oldest without an open request, so that nobody can keep others
// out with idle connections. If neither exists, it waits until a request or a connection ends.
func Listen(l net.Listener, limit int) net.Listener {
	out := &listener{Listener: l, limit: limit}
	out.ended.L = &out.mu
	return out
}

type listener struct {
	net.Listener
	limit int

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
	for len(l.open) >= l.limit && !l.closed {
		i := slices.IndexFunc(l.open, func(c *conn) bool { return !c.keep })
		if i < 0 {
			i = slices.IndexFunc(l.open, func(c *conn) bool { return c.idle })
		}
		if i >= 0 {
			_ = l.open[i].Conn.Close() // its server closes it again
			l.open = slices.Delete(l.open, i, i+1)
		} else {
			l.ended.Wait()
		}
	}
	if l.closed {
		return nil, errors.Join(net.ErrClosed, accepted.Close())
	}
	c := &conn{Conn: accepted, listener: l}
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
	listener *listener
	keep     bool // an authenticated request came on it; guarded by listener.mu
	idle     bool // no request is open on it; guarded by listener.mu
}

func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.listener.open = slices.DeleteFunc(c.listener.open, func(o *conn) bool { return o == c })
	c.listener.mu.Unlock()
	c.listener.ended.Signal()
	return c.Conn.Close()
}

// ConnState notes which connections are idle: for http.Server.ConnState.
func ConnState(accepted net.Conn, state http.ConnState) {
	if c, ok := accepted.(*conn); ok {
		c.listener.mu.Lock()
		c.idle = state == http.StateIdle
		c.listener.mu.Unlock()
		if state == http.StateIdle {
			c.listener.ended.Signal()
		}
	}
}

type connKey struct{}

// WithConn adds the connection to the context of its requests: for http.Server.ConnContext.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// KeepConn marks the connection of an authenticated request, so that Listen closes it only when no request is
// open on it.
func KeepConn(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		c.listener.mu.Lock()
		c.keep = true
		c.listener.mu.Unlock()
	}
}

// How long clients may take.
const (
	HeaderTime = 10 * time.Second // to send the header of a request
	IdleTime   = time.Minute      // between requests
	bodyTime   = time.Minute      // to send a body
	pieceTime  = time.Minute      // to read a piece of an answer
	piece      = 16 << 10
	restTime   = time.Second // to send the rest of a body that is not read
	maxRest    = 256 << 10   // bytes of such a rest
)

// Writer writes an answer in pieces. A slow client is served as long as it keeps reading.
type Writer struct {
	http.ResponseWriter
	Until time.Time // when the whole answer must have ended; zero: never

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

// Extend sets Until to d from now.
func (w *Writer) Extend(d time.Duration) { w.Until, w.set = time.Now().Add(d), time.Time{} }

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

// Body limits the time that a request's body may take to arrive.
func Body(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	if r.ContentLength == 0 {
		return r.Body
	}
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Now().Add(bodyTime)) // fails only in tests, without a connection
	return &body{r.Body, out}
}

// Shorten sets when the rest of a body must have arrived: at until, but at most bodyTime from now.
func Shorten(r *http.Request, until time.Time) {
	if b, ok := r.Body.(*body); ok {
		if limit := time.Now().Add(bodyTime); until.After(limit) {
			until = limit
		}
		_ = b.out.SetReadDeadline(until)
	}
}

// Refuse limits what is still read of a body after its request was refused.
func Refuse(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength > maxRest || r.Header.Get("Expect") != "" {
		w.Header().Set("Connection", "close") // the body is not read at all
	}
	Shorten(r, time.Now().Add(restTime))
}

type body struct {
	io.ReadCloser
	out *http.ResponseController
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) { // the deadline would also interrupt an answer that takes longer
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

// ReadAll reads a body. Its memory counts towards the limit for all bodies until done is called. If too little
// is left, the error is Busy.
func (l *Limits) ReadAll(r io.Reader) (data []byte, done func(), err error) {
	var acquired int64
	done = func() { l.bodies.release(acquired); acquired = 0 }
	for {
		if len(data) == cap(data) {
			more := int64(max(4<<10, len(data))) // the buffer doubles
			if !l.bodies.acquire(more) {
				done()
				return nil, func() {}, Busy()
			}
			acquired += more
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

// Spool returns content as a file, so that an answer for a slow reader waits on disk. If content is a file, it
// is returned itself; otherwise Spool copies it to a temporary file, and closes from.
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
	_ = os.Remove(f.Name()) // Windows cannot remove an open file: there Close does
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
