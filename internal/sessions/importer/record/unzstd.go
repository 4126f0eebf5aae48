package record

import (
	"errors"
	"io"
)

// Unzstd unpacks what zstd has compressed, and looks back at most maxWindow bytes. tape-host sets it before anything
// else. The program tape has none: the tables of the library alone would take a tenth of the processor time of each
// of its commands.
var Unzstd func(from io.Reader, maxWindow uint64) (io.ReadCloser, error)

// ErrPacked says that something is compressed, and that this program cannot unpack it.
var ErrPacked = errors.New("it is compressed by zstd, which only tape-host unpacks")
