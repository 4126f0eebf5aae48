package repo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A file that is sealed but not committed yet is covered by neither git's hash nor the
// note, which knows the open files only. So a line is kept for each: the file, its size
// and its checksum. The list is not synced: a line that is missing vouches for nothing,
// one that was torn is passed over. Of several lines the last counts.

func (t *Tape) sealsPath() string { return t.store.privatePath("seals", t.slug) }

// sealedFile notes a file that was just sealed. It may fail: then nothing vouches for
// the file until it is committed.
func (t *Tape) sealedFile(folder, name string, size int64, sum uint32) {
	d, path := t.store.fs, t.sealsPath()
	if err := d.MkdirAll(filepath.Dir(path)); err != nil {
		return
	}
	f, err := d.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(fmt.Appendf(nil, "%s/%s %d %08x\n", folder, name, size, sum))
	_ = f.Close()
}

// seals reads the list: what size and checksum each file had.
func (t *Tape) seals() map[string]string {
	raw, err := os.ReadFile(t.sealsPath())
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		if file, facts, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
			out[file] = facts
		}
	}
	return out
}

// checkSealed refuses a sealed file of the open phase that is not as it was.
func (v *snapshot) checkSealed(p phase, file string, data []byte) error {
	c, n, ok := parseSegment(file)
	if !ok || v.sealed == nil || n >= len(v.last[c]) {
		return nil
	}
	facts, ok := v.sealed()[p.folder+"/"+file]
	if !ok || facts == fmt.Sprintf("%d %08x", len(data), checksum(0, data)) {
		return nil
	}
	return &CorruptError{File: v.path(p, file), Fix: "put it back as it was",
		Msg: "the sealed file is not as it was recorded: a line in it was changed or is missing"}
}
