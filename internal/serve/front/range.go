package front

import (
	"io"
	"net/http"
	"time"
)

// ServeContent sends the content, or the range of it that a request asks for. If the range is not in the
// content, refuse has to answer with the status.
func ServeContent(w *Writer, r *http.Request, content io.ReadSeeker, refuse func(status int)) {
	http.ServeContent(&rangeWriter{Writer: w, refuse: refuse}, r, "", time.Time{}, content)
}

// rangeWriter replaces the plain text with which http.ServeContent answers a bad range.
type rangeWriter struct {
	*Writer
	refuse func(status int)
	failed bool
}

func (w *rangeWriter) WriteHeader(status int) {
	if status != http.StatusRequestedRangeNotSatisfiable {
		w.Writer.WriteHeader(status)
		return
	}
	w.failed = true
	w.refuse(status)
}

func (w *rangeWriter) Write(data []byte) (int, error) {
	if w.failed {
		return len(data), nil
	}
	return w.Writer.Write(data)
}
