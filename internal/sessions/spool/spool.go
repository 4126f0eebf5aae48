// Package spool keeps what the hooks of agents said until somebody has caught up.
//
// A hook must not wait: each note is a file of its own, so that no lock is needed, and it is
// synced once. A note that was cut off is known by its length, and is worth nothing: whoever
// wrote it never said that it was kept.
package spool

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tape/internal/git/disk"
)

// Note is what one hook said.
type Note struct {
	Agent     string    `json:"agent"`
	At        time.Time `json:"at"`
	Project   string    `json:"project,omitempty"`   // that the agent named in the environment
	Workspace string    `json:"workspace,omitempty"` // that the environment named
	Push      bool      `json:"push,omitempty"`
	Program   string    `json:"program,omitempty"` // version of the program that wrote it
	Trouble   string    `json:"trouble,omitempty"` // why it lies in another place than usual
	Bytes     int       `json:"bytes"`             // of the payload
	Payload   []byte    `json:"-"`
}

// Kept is a note in the spool.
type Kept struct {
	Note
	File string
	Torn bool // it was cut off, and nobody is writing it any more
}

// notes is the folder of the notes in a place, writing how long one may be half written.
const (
	notes   = "spool"
	writing = 10 * time.Second
)

// Places are the folders that may hold a spool and what belongs to it, the best one first: below
// the folder of the workspaces, or, where nothing can be written there, one of this user's
// that lasts as long as the machine runs.
func Places(home string, getenv func(string) string) []string {
	other := getenv("XDG_RUNTIME_DIR")
	if other == "" {
		other = os.TempDir()
	}
	sum := sha256.Sum256([]byte(home))
	return []string{filepath.Join(home, ".recording"), filepath.Join(other, fmt.Sprintf("tape-recording-%d-%x", os.Getuid(), sum[:4]))}
}

// Add keeps a note durably in the first place that takes it.
func Add(d *disk.FS, places []string, n Note) error {
	var failed []error
	for _, place := range places {
		if len(failed) > 0 {
			n.Trouble = failed[0].Error()
		}
		_, err := Keep(d, place, n)
		if err == nil {
			return nil
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// Keep keeps a note durably in one place. Those of one process need different times.
func Keep(d *disk.FS, place string, n Note) (kept Kept, err error) {
	n.Bytes = len(n.Payload)
	if err := Make(d, place); err != nil {
		return kept, err
	}
	dir := filepath.Join(place, notes)
	if err := d.MkdirAll(dir); err != nil {
		return kept, err
	}
	head, err := json.Marshal(n)
	if err != nil {
		return kept, err
	}
	var path string
	var f *disk.File
	for at, err := n.At.UnixNano(), fs.ErrExist; errors.Is(err, fs.ErrExist); at++ { // of two at once
		path = filepath.Join(dir, fmt.Sprintf("%019d-%d", at, os.Getpid()))
		if f, err = d.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, disk.FilePerm); err != nil && !errors.Is(err, fs.ErrExist) {
			return kept, err
		}
	}
	_, err = f.Write(slices.Concat(head, []byte("\n"), n.Payload))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.SyncDir(dir)
	}
	if err != nil {
		_ = d.Remove(path)
	}
	return Kept{Note: n, File: path}, err
}

// Check tries whether a place would take a note.
func Check(d *disk.FS, place string) error {
	if err := Make(d, place); err != nil {
		return err
	}
	path := filepath.Join(place, fmt.Sprintf("%strial-%d", disk.TempPrefix, os.Getpid()))
	f, err := d.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, disk.FilePerm)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	err = errors.Join(err, f.Close())
	return errors.Join(err, d.Remove(path))
}

// Make makes a place. One that others could write to, or have made, is refused: a payload has
// what a person said to an agent.
func Make(d *disk.FS, place string) error {
	if err := d.MkdirAll(place); err != nil {
		return err
	}
	st, err := os.Lstat(place)
	if err == nil && (!st.IsDir() || !private(st)) {
		err = fmt.Errorf("%s is not a folder of this user alone", place)
	}
	return err
}

// Notes returns the notes of all places, oldest first. One that is just being written is left
// for the next call. Places that are not there have none.
func Notes(places []string) (out []Kept, err error) {
	for _, place := range places {
		dir := filepath.Join(place, notes)
		list, readErr := os.ReadDir(dir)
		if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
			err = errors.Join(err, readErr)
		}
		for _, e := range list {
			kept, ok, readErr := read(filepath.Join(dir, e.Name()))
			err = errors.Join(err, readErr)
			if ok {
				out = append(out, kept)
			}
		}
	}
	slices.SortFunc(out, func(a, b Kept) int { return strings.Compare(filepath.Base(a.File), filepath.Base(b.File)) })
	return out, err
}

func read(path string) (kept Kept, ok bool, err error) {
	kept.File = path
	st, err := os.Stat(path)
	var raw []byte
	if err == nil {
		raw, err = os.ReadFile(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return kept, false, nil
	}
	if err != nil {
		return kept, false, err
	}
	head, payload, _ := bytes.Cut(raw, []byte("\n"))
	if json.Unmarshal(head, &kept.Note) == nil && len(payload) == kept.Bytes {
		kept.Payload = payload
		return kept, true, nil
	}
	kept.Note, kept.Torn = Note{At: st.ModTime()}, true
	return kept, time.Since(st.ModTime()) > writing, nil
}

// Drop removes notes that nobody needs any more.
func Drop(d *disk.FS, list []Kept) (err error) {
	for _, k := range list {
		err = errors.Join(err, d.Remove(k.File))
	}
	return err
}
