package writer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/store/aside"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Staged is content that is synced to disk but belongs to no phase yet. If the process is killed, gc removes it.
type Staged struct {
	SHA256 string
	Size   int64

	s    *workspace.Store
	path string
}

// Receive stages an artifact of a tape. It takes no lock, because the content may arrive slowly.
func Receive(ctx context.Context, t *workspace.Tape, a layout.Artifact, r io.Reader) (*Staged, error) {
	if !utf8.ValidString(a.MIMEType) || !utf8.ValidString(a.Name) {
		return nil, layout.Invalid("", "the type or name of the artifact is not valid UTF-8")
	}
	if _, err := t.Head(); err != nil {
		return nil, err
	}
	staged, err := Stage(ctx, t.Store(), r)
	return staged, layout.Wrap(err, "add an artifact to tape %q", t.Name())
}

// Stage writes content into a temporary file in the workspace's private folder, and syncs it.
func Stage(ctx context.Context, s *workspace.Store, r io.Reader) (*Staged, error) {
	dir := s.PrivatePath(layout.TempDirName)
	if err := s.FS().MkdirAll(dir); err != nil {
		return nil, err
	}
	f, err := s.FS().CreateTemp(dir, "artifact-*")
	if err != nil {
		return nil, err
	}
	out := &Staged{s: s, path: f.Name()}
	sum := sha256.New()
	if out.Size, err = out.copy(ctx, f, sum, r); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		out.Discard()
		return nil, err
	}
	out.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return out, nil
}

// copy copies r to f and sum. ErrInvalid if it has more than ArtifactLimit bytes.
func (a *Staged) copy(ctx context.Context, f *disk.File, sum hash.Hash, r io.Reader) (size int64, err error) {
	buf := make([]byte, 256<<10)
	for {
		if err := ctx.Err(); err != nil {
			return size, err
		}
		n, readErr := r.Read(buf)
		if size += int64(n); size > layout.ArtifactLimit {
			return size, layout.Invalid("keep it elsewhere, and record where", "the artifact has more than %d bytes", layout.ArtifactLimit)
		}
		if n > 0 {
			sum.Write(buf[:n])
			if _, err := f.Write(buf[:n]); err != nil {
				return size, err
			}
		}
		if errors.Is(readErr, io.EOF) {
			return size, nil
		}
		if readErr != nil {
			return size, readErr
		}
	}
}

// Discard removes the temporary file, if Place has not moved it.
func (a *Staged) Discard() { _ = os.Remove(a.path) } //nolint:forbidigo // a file of its own, in .git

// Place moves the content into a phase's folder, durably. An intact file that exists already stays.
func (a *Staged) Place(t *workspace.Tape, phase string) error {
	d, dir := a.s.FS(), filepath.Join(phase, layout.ArtifactsDir)
	if err := d.MkdirAll(dir); err != nil {
		return err
	}
	if err := workspace.CheckNoLink(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, a.SHA256)
	data, err := readChecked(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errDamaged) {
		return err
	}
	if err != nil {
		files := aside.Of(t, filepath.Dir(filepath.Dir(phase)))
		defer files.Tell()
		if err := files.ReplaceBy(path, a.path); err != nil {
			return err
		}
	} else if int64(len(data)) != a.Size {
		return fmt.Errorf("%s and the new artifact have the same SHA-256 but different bytes", path)
	}
	return Sync(d, phase)
}

// Sync makes the names of a phase's artifacts durable. The name of an existing artifact may need this, too: the
// process that placed it may have been killed before it synced.
func Sync(d *disk.FS, phase string) error {
	return errors.Join(d.SyncDir(filepath.Join(phase, layout.ArtifactsDir)), d.SyncDir(phase))
}

// errDamaged says that an artifact's content does not match its name.
var errDamaged = errors.New("the content does not match the name")

// readChecked reads an artifact's file and checks its content.
func readChecked(path string) ([]byte, error) {
	st, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a plain file", path)
	case st.Size() > layout.ArtifactLimit:
		return nil, errDamaged
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !MatchesArtifact(filepath.Base(path), data) {
		return nil, errDamaged
	}
	return data, nil
}

// MatchesArtifact reports whether content belongs to the name of an artifact.
func MatchesArtifact(name string, data []byte) bool { return NameOf(data) == name }

// NameOf returns the name of an artifact with this content: its SHA-256 in hexadecimal.
func NameOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Ensure makes sure that the open phase has an artifact that a new entry refers to, as a file or in git. It
// looks for the artifact in the snapshots in, the newest phases first, and copies it if only another phase or
// snapshot has it. The first snapshot is the tape's. Errors: ErrInvalid if the artifact is missing, or has
// another size than ref says.
func Ensure(ctx context.Context, t *workspace.Tape, ref layout.Artifact, open layout.Phase, in ...*snapshot.Snapshot) error {
	for i, v := range in {
		p, _, err := v.FindArtifact(ref.SHA256)
		if errors.Is(err, layout.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		r, size, err := v.OpenArtifact(p, ref.SHA256)
		if err != nil {
			return err
		}
		defer r.Close()
		if size != ref.Size {
			return layout.Invalid("", "the entry says that artifact %s has %d bytes; it has %d", ref.SHA256, ref.Size, size)
		}
		if i == 0 && p.Folder == open.Folder {
			return nil
		}
		staged, err := Stage(ctx, t.Store(), r)
		if err != nil {
			return err
		}
		if staged.SHA256 != ref.SHA256 {
			staged.Discard()
			return damaged(v.Where(p, layout.ArtifactsDir+"/"+ref.SHA256))
		}
		defer staged.Discard()
		return staged.Place(t, in[0].Path(open, ""))
	}
	return Missing(ref)
}

// Missing returns the ErrInvalid for an entry whose artifact does not exist.
func Missing(ref layout.Artifact) error {
	return layout.Invalid("", "the tape does not have the artifact %s that the entry refers to", ref.SHA256).Try(layout.AddArtifact)
}

func damaged(file string) error {
	return &layout.CorruptError{File: file, Msg: errDamaged.Error()}
}

// HasUncommitted reports whether the folder of the open phase has artifacts that the commit lacks.
func HasUncommitted(committed *snapshot.Snapshot, open layout.Phase, folder string) (bool, error) {
	names, err := snapshot.ArtifactsIn(folder)
	if err != nil || len(names) == 0 {
		return false, err
	}
	p, ok := committed.Phase(open.Seq, open.Folder)
	if !ok {
		return true, nil
	}
	inGit, err := committed.CommittedArtifacts(p)
	return slices.ContainsFunc(names, func(name string) bool {
		_, ok := layout.FindEntry(inGit, name)
		return !ok
	}), err
}

// CommitArtifacts stores in git the wanted artifacts of a phase's folder that the tree entries in list lack, and adds
// them to list. It calls stored for each.
func CommitArtifacts(phase string, list *[]gitstore.TreeEntry, wants func(name string) bool, put func(gitstore.Kind, []byte) gitstore.Hash, stored func(name string, h gitstore.Hash, size int)) error {
	names, err := snapshot.ArtifactsIn(phase)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, ok := layout.FindEntry(*list, name); ok || !wants(name) {
			continue
		}
		path := filepath.Join(phase, layout.ArtifactsDir, name)
		data, err := readChecked(path)
		if errors.Is(err, errDamaged) {
			return damaged(path)
		}
		if err != nil {
			return err
		}
		h := put(gitstore.KindBlob, data)
		layout.SetEntry(list, gitstore.TreeEntry{Name: name, Mode: gitstore.ModeFile, Hash: h})
		stored(name, h, len(data))
	}
	return nil
}
