package repo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/gitstore"
)

// dropPacked makes packs anew that have doomed objects.
func (d *dropper) dropPacked() error {
	packs, err := d.doomedPacks()
	if err != nil || len(packs) == 0 {
		return err
	}
	if git, lookErr := exec.LookPath("git"); lookErr == nil {
		err = d.repack(git)
	} else {
		err = d.unpack(packs)
	}
	if err != nil {
		return err
	}
	if packs, err = d.doomedPacks(); err != nil {
		return err
	}
	for _, pack := range packs {
		d.p.left("%s still has it: remove the file %s.keep, and purge again", filepath.Base(pack)+".pack", filepath.Base(pack))
	}
	return nil
}

// repack lets git put into one pack what is live, and drop the others.
func (d *dropper) repack(git string) error {
	cmd := exec.CommandContext(d.p.ctx, git, "--git-dir="+d.p.s.git.GitDir(), "repack", "-a", "-d", "-q")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git repack: %w: %.500s", err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

// unpack does without git: what else the packs have is written loose, and they go. The
// next tape gc packs it again.
func (d *dropper) unpack(packs []string) error {
	s := d.p.s
	for _, pack := range packs {
		if _, err := os.Lstat(pack + ".keep"); err == nil {
			continue
		}
		names, err := packedNames(pack + ".idx")
		if err != nil {
			return err
		}
		for part := range slices.Chunk(names, 1000) {
			batch := s.git.NewBatch()
			for _, h := range part {
				if d.isDoomed(h) {
					continue
				}
				kind, raw, err := s.git.Read(h)
				if err != nil {
					batch.Discard()
					return err
				}
				batch.Put(kind, bytes.Clone(raw))
			}
			if err := batch.Flush(d.p.ctx); err != nil {
				return err
			}
		}
		// Without its index a pack is none.
		for _, ext := range []string{".idx", ".rev", ".bitmap", ".mtimes", ".pack"} {
			if err := s.fs.Remove(pack + ext); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// doomedPacks are the packs that have doomed objects, without their extension.
func (d *dropper) doomedPacks() ([]string, error) {
	all, err := filepath.Glob(filepath.Join(d.objects(), "pack", "pack-*.idx"))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, idx := range all {
		names, err := packedNames(idx)
		if errors.Is(err, fs.ErrNotExist) {
			continue // made anew by somebody meanwhile
		}
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(names, d.isDoomed) {
			out = append(out, strings.TrimSuffix(idx, ".idx"))
		}
	}
	return out, nil
}

// packedNames lists the objects of a pack, as its index (version 2, see gitformat-pack)
// has them.
func packedNames(idx string) ([]gitstore.Hash, error) {
	const head, fanout, size = 8, 256 * 4, 20
	raw, err := os.ReadFile(idx)
	if err != nil {
		return nil, err
	}
	if len(raw) < head+fanout || !bytes.HasPrefix(raw, []byte("\xfftOc\x00\x00\x00\x02")) {
		return nil, &CorruptError{File: idx, Msg: "not the index of a pack, or of an old version", Fix: "git repack -a -d makes a new one"}
	}
	n := int(binary.BigEndian.Uint32(raw[head+fanout-4:]))
	raw = raw[head+fanout:]
	if len(raw)/size < n {
		return nil, &CorruptError{File: idx, Msg: "the index of a pack is cut off"}
	}
	out := make([]gitstore.Hash, n)
	for i := range out {
		copy(out[i][:], raw[i*size:])
	}
	return out, nil
}
