package importer

import (
	"errors"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"tape/internal/sessions/importer/record"
	"tape/internal/show/display"
	"tape/internal/store/layout"
)

// compressed ends the names of files that are compressed by zstd: Codex compresses rollouts that were not written to
// for a week (codex-rs/rollout in openai/codex).
const compressed = ".zst"

// The limits for a compressed file. Text shrinks to about a tenth of its size, hardly ever to a hundredth.
const (
	maxWindow = 64 << 20 // bytes that the decoder looks back; Codex uses 8 MiB at most
	maxGrowth = 1000     // times the compressed size
)

// unzstd opens a compressed file: it is unpacked to a temporary one.
func unzstd(name string, f *os.File) (src record.Source, closer io.Closer, err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil {
		return src, nil, err
	}
	in, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return src, nil, err
	}
	defer in.Close()
	most := max(maxUnmeasured, st.Size()*maxGrowth)
	src, closer, err = temporary(name, io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return src, nil, layout.Invalid("", "%s cannot be unpacked: %v", display.Quoted(name), err)
	case src.Size > most:
		return src, nil, errors.Join(layout.Invalid("", "unpacked, %s would have more than %d times its size", display.Quoted(name), maxGrowth), closer.Close())
	}
	return src, closer, nil
}
