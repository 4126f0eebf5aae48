package export

import (
	"bufio"
	"fmt"
	"io"
)

// output is what the formats write to. It remembers the first write that failed, and
// does nothing from then on.
type output struct {
	w   *bufio.Writer
	err error
}

func newOutput(w io.Writer) *output { return &output{w: bufio.NewWriterSize(w, 64<<10)} }

func (o *output) text(s string) {
	if o.err == nil {
		_, o.err = o.w.WriteString(s)
	}
}

func (o *output) bytes(b []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(b)
	}
}

func (o *output) printf(format string, args ...any) {
	if o.err == nil {
		_, o.err = fmt.Fprintf(o.w, format, args...)
	}
}

// close brings everything out.
func (o *output) close() error {
	if o.err == nil {
		o.err = o.w.Flush()
	}
	return o.err
}
