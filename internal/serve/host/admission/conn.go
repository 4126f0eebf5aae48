package admission

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Listen accepts so many connections at once; others wait until one of them ends.
func Listen(l net.Listener, most int) net.Listener {
	return &listener{Listener: l, slots: make(chan struct{}, most), closed: make(chan struct{})}
}

type listener struct {
	net.Listener
	slots  chan struct{}
	once   sync.Once
	closed chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &conn{Conn: c, free: func() { <-l.slots }}, nil
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type conn struct {
	net.Conn
	once sync.Once
	free func()
}

func (c *conn) Close() error {
	defer c.once.Do(c.free)
	return c.Conn.Close()
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
