package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"tape/internal/git/disk"
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

// errPacked ends a walk at the first compressed file.
var errPacked = errors.New("there is one")

// NeedsHost reports whether an import meets something that only tape-host can unpack: in the named files and folders,
// or, without names, among what the agents keep. It reads no file.
func NeedsHost(ctx context.Context, names []string, agents Formats, getenv func(string) string) bool {
	if record.Unzstd != nil {
		return false
	}
	where := names
	for _, agent := range agents {
		if len(names) > 0 {
			break
		}
		if agent.Files.Compressed {
			where = append(where, Folders(agent, getenv)...)
		}
		if kept := agent.Files.Database; kept != nil && kept.Compressed {
			if list, _ := Databases(agent, getenv); len(list) > 0 {
				return true
			}
		}
	}
	for _, name := range where {
		if f, _, _ := agents.inDatabase(name); f != nil && f.Files.Database.Compressed {
			return true
		}
		err := disk.Walk(name, func(path string, _ fs.FileInfo, _ error) error {
			if f, _ := agents.DatabaseOf(path); strings.HasSuffix(path, compressed) || f != nil && f.Files.Database.Compressed {
				return errPacked
			}
			return ctx.Err()
		})
		if errors.Is(err, errPacked) {
			return true
		}
	}
	return false
}

// unzstd opens a compressed file: it is unpacked to a temporary one.
func unzstd(name string, f *os.File) (src record.Source, closer io.Closer, err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil {
		return src, nil, err
	}
	if record.Unzstd == nil {
		return src, nil, fmt.Errorf("%s: %w", display.Quoted(name), record.ErrPacked)
	}
	in, err := record.Unzstd(f, maxWindow)
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
