package markup

import (
	"bufio"
	"fmt"
	"io"
)

// Output is what formats write to. After a failed write it does nothing; err tells why.
type Output struct{ W *bufio.Writer }

// NewOutput buffers what is written to w.
func NewOutput(w io.Writer) *Output { return &Output{bufio.NewWriterSize(w, 64<<10)} }

// Text writes text.
func (o *Output) Text(s string) { _, _ = o.W.WriteString(s) }

// Bytes writes bytes.
func (o *Output) Bytes(b []byte) { _, _ = o.W.Write(b) }

// Printf writes as [fmt.Fprintf] does.
func (o *Output) Printf(format string, args ...any) { _, _ = fmt.Fprintf(o.W, format, args...) }

// Err is the first error of a write.
func (o *Output) Err() error {
	_, err := o.W.Write(nil)
	return err
}
