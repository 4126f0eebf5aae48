// Package spool keeps notes from the hooks of agents until the recorder has read them.
//
// A hook must not wait. So each note is a file of its own, which needs no lock and is synced once. A
// note that was cut off is recognised by its length and ignored: its hook never reported success.
package spool

import (
	"bytes"
	"cmp"
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

// Note is the input of one hook.
type Note struct {
	Agent     string    `json:"agent"`
	At        time.Time `json:"at"`
	Project   string    `json:"project,omitempty"`   // its directory; "": the current directory in the payload
	Workspace string    `json:"workspace,omitempty"` // the folder of a chosen workspace; "": that of the project
	Push      bool      `json:"push,omitempty"`
	Program   string    `json:"program,omitempty"` // version of the program that wrote it
	Trouble   string    `json:"trouble,omitempty"` // why it is not in its usual place
	Bytes     int       `json:"bytes"`             // of the payload
	Payload   []byte    `json:"-"`
}

// Kept is a note in the spool.
type Kept struct {
	Note
	File string
	Torn bool // it was cut off, and is not being written any more
}

const (
	notes        = "spool"          // the folder of the notes in a place
	maxWriteTime = 10 * time.Second // an incomplete note counts as torn after it
)

// Places are the folders that may hold a spool and the recorder's other files, in order of preference:
// one in home, the folder of the workspaces, and, if that cannot be written, a temporary one of this user.
func Places(home string, getenv func(string) string) []string {
	other := cmp.Or(getenv("XDG_RUNTIME_DIR"), os.TempDir())
	sum := sha256.Sum256([]byte(home))
	return []string{filepath.Join(home, ".recording"), filepath.Join(other, fmt.Sprintf("tape-recording-%d-%x", os.Getuid(), sum[:4]))}
}

// Add writes a note durably to the first place that can be written.
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

// Keep writes a note durably to one place.
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
	for at, err := n.At.UnixNano(), fs.ErrExist; errors.Is(err, fs.ErrExist); at++ { // another note has the same time
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

// Check returns why a note could not be written in a place; nil if it could. It writes a file, and removes it.
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

// Make creates a place. It refuses a folder that belongs to another user, or that others can write to: a
// payload contains what a person said to an agent.
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

// Notes returns the notes of all places, oldest first. A note that is still being written is left
// for the next call. A place may be missing.
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
	slices.SortStableFunc(out, func(a, b Kept) int { return strings.Compare(filepath.Base(a.File), filepath.Base(b.File)) })
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
	return kept, time.Since(st.ModTime()) > maxWriteTime, nil
}

// Drop removes notes.
func Drop(d *disk.FS, list []Kept) (err error) {
	for _, k := range list {
		err = errors.Join(err, d.Remove(k.File))
	}
	return err
}
