package hostcli

import (
	"io"

	"github.com/klauspost/compress/zstd"
)

// Unzstd unpacks what zstd has compressed, for the formats of agents.
func Unzstd(from io.Reader, maxWindow uint64) (io.ReadCloser, error) {
	r, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return r.IOReadCloser(), nil
}
