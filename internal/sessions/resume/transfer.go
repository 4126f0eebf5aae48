package resume

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// WriteOptions say what is written, and where.
type WriteOptions struct {
	From    string // the anchor to begin with; "": the tape's context is written
	Title   string
	Dir     string // where the agent is to run; absolute
	User    record.Where
	Program string // the agent's, found in PATH
	Now     time.Time
}

// Written says what was written.
type Written struct {
	Session string // its id
	File    string // its transcript; "" if the agent's program has imported it
	Told    Told
}

// CountTold returns what Write would write of a tape. from is that of [Options].
func CountTold(ctx context.Context, t *repo.Tape, from string) (Told, error) {
	_, told, err := toWrite(ctx, t, from)
	return told, err
}

func toWrite(ctx context.Context, t *repo.Tape, from string) (said []record.WrittenMessage, told Told, err error) {
	said, told, err = conversation(ctx, t, from)
	if err == nil && len(said) == 0 {
		err = layout.Invalid("", "tape %q has no messages to go on with", t.Name())
	}
	return said, told, err
}

// WriteAs writes the session on a tape as a new session of the agent with the format f.
func WriteAs(ctx context.Context, t *repo.Tape, f *record.Format, o WriteOptions) (Written, error) {
	said, told, err := toWrite(ctx, t, o.From)
	if err != nil {
		return Written{}, err
	}
	var random [32]byte
	if _, err := rand.Read(random[:]); err != nil {
		return Written{}, err
	}
	s := &record.Session{ID: record.UUID(random), Title: o.Title, Dir: o.Dir, Began: o.Now.Truncate(time.Millisecond), Messages: said}
	if f.Writer.NewID != nil {
		s.ID = f.Writer.NewID(o.Now, random)
	}
	files, err := f.Writer.Files(o.User.User(), s)
	if err != nil {
		return Written{}, fmt.Errorf("write a session of %s: %w", f.Title, err)
	}
	transcript := &files[len(files)-1]
	done := Written{Session: s.ID, File: transcript.Path, Told: told}
	if err := note(ctx, t, f, s.ID, transcript.Data); err != nil {
		return Written{}, err
	}
	if f.Writer.Import != nil {
		done.File = ""
		return done, runImport(ctx, f, o, transcript)
	}
	for _, file := range files {
		if err := create(file); err != nil {
			return Written{}, fmt.Errorf("write a session of %s: %w", f.Title, err)
		}
	}
	return done, nil
}

// note records on the tape what the transcript contains, and in the workspace which tape it belongs to. This is done
// before the transcript is written, because it may be imported as soon as it exists.
func note(ctx context.Context, t *repo.Tape, f *record.Format, id string, transcript []byte) error {
	src := record.Source{Name: id, R: bytes.NewReader(transcript), Size: int64(len(transcript))}
	var keys []string
	_, err := importer.Read(ctx, f, src, func(string, string) bool { return false }, func(item record.Item) error {
		keys = append(keys, item.Keys...)
		return nil
	})
	if err != nil {
		return err
	}
	e := repo.Event(projects.Event, record.NewObject(64).Str("agent", f.Name).Str("session", id).Done())
	if e.Meta = record.WithKeys(nil, f.Name, keys); len(e.Meta) > jsonl.DefaultMaxLine/2 {
		return layout.Invalid("begin with a later anchor: --from ANCHOR", "tape %q is too long to be written as one session", t.Name())
	}
	if err := projects.AddContinued(ctx, (*workspace.Store)(t.Store()), projects.ContinuedSession{Agent: f.Name, ID: id, Tape: t.Name()}); err != nil {
		return err
	}
	if _, err := t.Append(ctx, nil, e); err != nil {
		return err
	}
	_, _, err = t.Checkpoint(ctx)
	return err
}

// create creates a file with its whole content at once. A file that exists already stays, and create returns an error.
func create(file record.File) error {
	dir := filepath.Dir(file.Path)
	var d *disk.FS
	if err := d.MkdirAll(dir); err != nil {
		return err
	}
	tmp := filepath.Join(dir, disk.TempPrefix+filepath.Base(file.Path)+".new") // no agent takes it for a transcript
	err := d.WriteFile(tmp, file.Data)
	if err == nil {
		err = d.Link(tmp, file.Path)
	}
	return errors.Join(err, d.Remove(tmp), d.SyncDir(dir))
}

// runImport runs the agent's program to import a transcript.
func runImport(ctx context.Context, f *record.Format, o WriteOptions, transcript *record.File) error {
	dir, err := os.MkdirTemp("", "tape-session-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, transcript.Path)
	if err := os.WriteFile(path, transcript.Data, disk.FilePerm); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, o.Program, append(append([]string{}, f.Writer.Import...), path)...) // #nosec G204 -- the format chooses it
	cmd.Dir = o.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", f.Resume.Program, f.Writer.Import[0], err, bytes.TrimSpace(out))
	}
	return nil
}
