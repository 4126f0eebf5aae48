package export

import (
	"bufio"
	"fmt"
	"io"
)

// output is the buffered output of a format. After a failed write it writes nothing more, and
// failed returns the error.
type output struct{ w *bufio.Writer }

func newOutput(w io.Writer) *output { return &output{bufio.NewWriterSize(w, 64<<10)} }

func (o *output) text(s string) { _, _ = o.w.WriteString(s) }

func (o *output) bytes(b []byte) { _, _ = o.w.Write(b) }

func (o *output) printf(format string, args ...any) { _, _ = fmt.Fprintf(o.w, format, args...) }

// failed is the first error of a write.
func (o *output) failed() error {
	_, err := o.w.Write(nil)
	return err
}
