package channels

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tape/hooks"
	"tape/internal/git/disk"
	"tape/internal/sessions/spool"
)

// stored is a message on disk.
type stored struct {
	id      string
	message hooks.Envelope
	note    spool.Kept
}

// store keeps messages until they are answered: a note for each, and a journal that says which
// messages are one turn, and which are being answered.
type store struct {
	fs  *disk.FS
	dir string

	mu       sync.Mutex
	journal  *disk.File
	seen     map[string]bool   // ids that are on disk, or were answered
	answered map[string]bool   // ids whose answer was being sent
	head     map[string]string // by id: the first message of its turn
	last     time.Time         // of a note
}

// line is a line of the journal.
type line struct {
	Turn     []string `json:"turn,omitempty"`     // messages of one turn, which has begun or is being steered
	Answered []string `json:"answered,omitempty"` // messages whose answer is about to be sent
}

// remembered is how many answered messages are recognised when they are delivered again.
const remembered = 10000

// open locks the folder and reads the journal.
func (s *store) open(ctx context.Context) (unlock func(), err error) {
	if err := spool.Make(s.fs, s.dir); err != nil {
		return nil, err
	}
	lock, err := s.fs.Lock(ctx, filepath.Join(s.dir, "lock"), 0)
	if errors.Is(err, disk.ErrLocked) {
		return nil, fmt.Errorf("another process runs these channels, or has this session open: %w", err)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.read(); err != nil {
		_ = lock.Unlock()
		return nil, err
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = s.journal.Close()
		s.journal = nil
		_ = lock.Unlock()
	}, nil
}

// read reads the journal and rewrites it without the lines that are not needed any more or were cut off.
func (s *store) read() error {
	s.seen, s.answered, s.head = map[string]bool{}, map[string]bool{}, map[string]string{}
	path := filepath.Join(s.dir, "answered")
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var ids []string
	for text := range bytes.Lines(raw) {
		var l line
		if json.Unmarshal(text, &l) != nil {
			continue
		}
		for _, id := range l.Turn {
			s.head[id] = l.Turn[0]
		}
		ids = append(ids, l.Answered...)
	}
	ids = ids[max(0, len(ids)-remembered):]
	for _, id := range ids {
		s.seen[id], s.answered[id] = true, true
	}
	var out []byte
	if len(ids) > 0 {
		out = appendLine(out, line{Answered: ids})
	}
	for _, turn := range s.turns() {
		out = appendLine(out, line{Turn: turn})
	}
	if err := s.fs.WriteFile(path, out); err != nil {
		return err
	}
	s.journal, err = s.fs.OpenFile(path, os.O_WRONLY|os.O_APPEND, disk.FilePerm)
	return err
}

// turns returns the turns that have begun and were not answered: the ids of each turn's messages, the first one first.
func (s *store) turns() [][]string {
	all := map[string][]string{}
	for id, head := range s.head {
		if !s.answered[id] {
			all[head] = append(all[head], id)
		}
	}
	var out [][]string
	for head, ids := range all {
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == head })
		slices.Sort(ids)
		out = append(out, append([]string{head}, ids...))
	}
	return out
}

func appendLine(out []byte, l line) []byte {
	raw, err := json.Marshal(l)
	if err != nil {
		panic(err) // cannot happen: a line has only strings
	}
	return append(append(out, raw...), '\n')
}

func (s *store) write(l line) error {
	if s.journal == nil {
		return errors.New("the journal of messages is closed")
	}
	_, err := s.journal.Write(append([]byte{'\n'}, appendLine(nil, l)...)) // the newline ends a line that was cut off
	if err == nil {
		err = s.journal.Sync()
	}
	return err
}

// add stores a message. fresh is false if it was stored before, or already answered.
func (s *store) add(e hooks.Envelope) (k stored, fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := e.Text(hooks.KeyMessageID)
	if id == "" {
		id = "message-" + strings.ToLower(rand.Text()[:16])
	}
	e[hooks.KeyMessageID] = id
	if s.seen[id] {
		return k, false, nil
	}
	note, err := s.keep(id, e)
	if err != nil {
		return k, false, err
	}
	s.seen[id] = true
	return stored{id: id, message: e, note: note}, true, nil
}

// keep makes a note of a message; s.mu is held.
func (s *store) keep(id string, e hooks.Envelope) (spool.Kept, error) {
	raw, err := json.Marshal(e)
	if err != nil {
		return spool.Kept{}, fmt.Errorf("message %q: %w", id, err)
	}
	note, err := spool.Keep(s.fs, s.dir, spool.Note{Agent: e.Text(hooks.KeyChannel), At: s.now(), Payload: raw})
	if err != nil {
		return spool.Kept{}, fmt.Errorf("message %q could not be stored: %w", id, err)
	}
	return note, nil
}

// now returns a time later than that of every note of this run; s.mu is held.
func (s *store) now() time.Time {
	at := time.Now()
	if !at.After(s.last) {
		at = s.last.Add(1)
	}
	s.last = at
	return at
}

// join records that messages belong to one turn, which has begun.
func (s *store) join(list []stored) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := idsOf(list)
	same := true
	for _, id := range ids {
		same = same && s.head[id] == ids[0]
	}
	if same {
		return nil
	}
	for _, id := range ids {
		s.head[id] = ids[0]
	}
	return s.write(line{Turn: ids})
}

// headOf returns the first message of a message's turn; "" if no turn has begun.
func (s *store) headOf(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head[id]
}

// wasAnswered reports whether the answer to a message was being sent when the program ended.
func (s *store) wasAnswered(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answered[id]
}

// answering records that the answer to messages is about to be sent.
func (s *store) answering(list []stored) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(line{Answered: idsOf(list)})
}

// done drops messages that need no turn any more.
func (s *store) done(list []stored) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var notes []spool.Kept
	for _, k := range list {
		notes = append(notes, k.note)
		delete(s.head, k.id)
	}
	return spool.Drop(s.fs, notes)
}

// pending returns the messages on disk.
func (s *store) pending() (out []stored, err error) {
	notes, err := spool.Notes([]string{s.dir})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range notes {
		k := stored{note: n}
		if n.Torn || json.Unmarshal(n.Payload, &k.message) != nil { // its channel was never told that it was accepted
			if err := spool.Drop(s.fs, []spool.Kept{n}); err != nil {
				return nil, err
			}
			continue
		}
		k.id = k.message.Text(hooks.KeyMessageID)
		s.seen[k.id] = true
		if i := slices.IndexFunc(out, func(o stored) bool { return o.id == k.id }); i >= 0 { // an edit that was interrupted
			if err := spool.Drop(s.fs, []spool.Kept{out[i].note}); err != nil {
				return nil, err
			}
			out[i] = k
			continue
		}
		out = append(out, k)
	}
	return out, nil
}

func idsOf(list []stored) (ids []string) {
	for _, k := range list {
		ids = append(ids, k.id)
	}
	return ids
}
