package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Unzstd unpacks what zstd has compressed, and looks back at most maxWindow bytes. tape-host sets it before anything
// else. The program tape has none: the tables of the library alone would take a tenth of the processor time of each
// of its commands.
var Unzstd func(from io.Reader, maxWindow uint64) (io.ReadCloser, error)

// ErrPacked says that something is compressed, and that this program cannot unpack it.
var ErrPacked = errors.New("it is compressed by zstd, which only tape-host unpacks")

// Unpack returns a value of a database that zstd has compressed, at most MaxSession bytes of it.
func Unpack(packed []byte) ([]byte, error) {
	if Unzstd == nil {
		return nil, ErrPacked
	}
	const window = 64 << 20
	in, err := Unzstd(bytes.NewReader(packed), window)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, err := io.ReadAll(io.LimitReader(in, MaxSession+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("it cannot be unpacked: %w", err)
	case len(out) > MaxSession:
		return nil, fmt.Errorf("unpacked, it would have more than %d MiB", MaxSession>>20)
	}
	return out, nil
}
