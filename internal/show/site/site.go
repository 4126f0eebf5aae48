package site

import (
	"bytes"
	_ "embed" // the style and the script
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"tape/internal/show/block"
	"tape/internal/show/export"
	"tape/internal/store/layout"
)

// Folder has the files of a site. Names are relative, with slashes.
type Folder interface {
	Read(name string) ([]byte, error) // fs.ErrNotExist if there is none
	Size(name string) (int64, error)  // fs.ErrNotExist if there is none
	Write(name string, data []byte) error
	Remove(name string) error // nil if there is none
	// Sync makes durable what was written.
	Sync() error
}

// The files of a site.
const (
	ListFile    = "tape-pages.json"
	indexFile   = "index.html"
	readmeFile  = "README.md"
	styleFile   = "style.css"
	scriptFile  = "search.js"
	jekyllFile  = ".nojekyll" // tells GitHub to publish the files as they are
	sessionsDir = "sessions"
	searchDir   = "search"
)

//go:embed assets/site.css
var siteStyle string

//go:embed assets/search.js
var searchScript string

// madeBy is a text near the beginning of each file that we wrote.
const madeBy = "made by tape publish"

const format = 1

// Session is a session in the list.
type Session struct {
	Tape    string    `json:"tape"`
	Folder  string    `json:"folder"` // below sessions/
	Title   string    `json:"title"`
	Project string    `json:"project,omitempty"`
	Agent   string    `json:"agent,omitempty"`
	Model   string    `json:"model,omitempty"`
	People  []string  `json:"people,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Updated time.Time `json:"updated,omitzero"`
	Prompts int       `json:"prompts"`
	Pages   int       `json:"pages"`
	Masked  int       `json:"masked,omitempty"`
	// State stands for all that the files depend on. Commit is the session's commit that they show.
	State  string           `json:"state"`
	Commit string           `json:"commit,omitempty"`
	Files  map[string]int64 `json:"files"` // names in the session's folder, with their sizes
}

// Site is a site that is being changed. End writes it.
type Site struct {
	Written int // files that were new or had changed

	mu       sync.Mutex // Put may run for several sessions at once
	folder   Folder
	sessions []Session         // sorted by tape
	removed  []string          // layout.ForgottenID of sessions that were taken out
	texts    map[string][]byte // by folder: the new line of a search file; nil if the session was taken out
	skipped  []string          // files of others that are in the place of ours
}

type list struct {
	MadeBy   string            `json:"made_by"`
	Format   int               `json:"format"`
	Removed  []string          `json:"removed,omitempty"`
	Sessions []json.RawMessage `json:"sessions"`
}

// Open reads the list of a site; an empty folder is a new one. Errors: layout.ErrConflict if files of others are in
// the place of ours, layout.ErrInvalid if a newer version of tape made the site.
func Open(folder Folder) (*Site, error) {
	s := &Site{folder: folder, texts: map[string][]byte{}}
	raw, err := folder.Read(ListFile)
	names := []string{indexFile, styleFile, scriptFile}
	switch {
	case errors.Is(err, fs.ErrNotExist): // a new site
		names = append(names, indexName(2))
		for n := range uint32(searchFiles) {
			names = append(names, searchName(n))
		}
	case err != nil:
		return nil, err
	default:
		if err := s.parse(raw); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		if _, err := s.readOurs(name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// readOurs returns the content of a file, nil if it is missing. ErrConflict if others have made it.
func (s *Site) readOurs(name string) ([]byte, error) {
	data, err := s.folder.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !bytes.Contains(data[:min(len(data), 600)], []byte(madeBy)) {
		err = layout.Conflict("publish into a folder or branch of its own", "%s was not made by tape publish, and stays", name)
	}
	return data, err
}

func (s *Site) parse(raw []byte) error {
	var l list
	if err := json.Unmarshal(raw, &l); err != nil || l.MadeBy != madeBy {
		return layout.Conflict("publish into a folder or branch of its own", "%s was not made by tape publish, or is damaged", ListFile)
	}
	if l.Format > format {
		return layout.Invalid("use that version, or publish into another folder", "the pages were made by a newer version of tape")
	}
	for _, one := range l.Sessions {
		var x Session
		// Somebody else may have written the list: drop names that lead out of the site.
		if err := json.Unmarshal(one, &x); err != nil || x.Tape == "" || !validFolder(x.Folder) {
			continue
		}
		for name := range x.Files {
			if !fileNames.MatchString(name) {
				delete(x.Files, name)
			}
		}
		s.put(x)
	}
	s.removed = l.Removed
	return nil
}

func validFolder(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\\x00") && fs.ValidPath(name)
}

// fileNames matches the names of a session's files.
var fileNames = regexp.MustCompile(`^(index|README|[0-9]+|[0-9]+-whole|picture-[0-9a-f]{16})\.(html|md|png|jpg|gif|webp)$`)

func (s *Site) find(tape string) (int, bool) {
	return slices.BinarySearchFunc(s.sessions, tape, func(x Session, tape string) int { return strings.Compare(x.Tape, tape) })
}

func (s *Site) put(x Session) {
	if i, ok := s.find(x.Tape); ok {
		s.sessions[i] = x
	} else {
		s.sessions = slices.Insert(s.sessions, i, x)
	}
}

// Sessions returns the sessions of the site, sorted by the names of their tapes.
func (s *Site) Sessions() []Session { return s.sessions }

// Find returns a session of the site.
func (s *Site) Find(tape string) (Session, bool) {
	i, ok := s.find(tape)
	if !ok {
		return Session{}, false
	}
	return s.sessions[i], true
}

// IsComplete reports whether the site has all files of a session in a state.
func (s *Site) IsComplete(tape, state string) bool {
	x, ok := s.Find(tape)
	if !ok || x.State != state || len(x.Files) == 0 {
		return false
	}
	for name, size := range x.Files {
		if is, err := s.folder.Size(path.Join(sessionsDir, x.Folder, name)); err != nil || is != size {
			return false
		}
	}
	return true
}

// WasRemoved reports whether a session was taken out.
func (s *Site) WasRemoved(tape string) bool {
	return slices.Contains(s.removed, layout.ForgottenID(tape))
}

// Remove takes a session out, and reports whether it was there. It stays out until Allow.
func (s *Site) Remove(tape string) (bool, error) {
	i, ok := s.find(tape)
	if !ok {
		return false, nil
	}
	x := s.sessions[i]
	for name := range x.Files {
		if err := s.folder.Remove(path.Join(sessionsDir, x.Folder, name)); err != nil {
			return true, err
		}
	}
	s.sessions = slices.Delete(s.sessions, i, i+1)
	s.removed = append(s.removed, layout.ForgottenID(tape))
	s.texts[x.Folder] = nil
	return true, nil
}

// Allow lets a session that was taken out come back.
func (s *Site) Allow(tape string) {
	s.removed = slices.DeleteFunc(s.removed, func(h string) bool { return h == layout.ForgottenID(tape) })
}

// write writes a file unless it already has this content. It does not check whether the file is ours.
func (s *Site) write(name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, err := s.folder.Read(name)
	switch {
	case err == nil && bytes.Equal(was, data):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	s.Written++
	return s.folder.Write(name, data)
}

// End writes the list and the files that depend on it.
func (s *Site) End() error {
	if err := s.writeTexts(); err != nil {
		return err
	}
	if err := s.write(styleFile, []byte("/* "+madeBy+" */\n"+export.Style()+siteStyle)); err != nil {
		return err
	}
	if err := s.write(scriptFile, []byte("// "+madeBy+"\n"+block.Script()+searchScript)); err != nil {
		return err
	}
	if _, err := s.folder.Size(jekyllFile); errors.Is(err, fs.ErrNotExist) {
		if err := s.write(jekyllFile, nil); err != nil {
			return err
		}
	}
	if err := s.folder.Sync(); err != nil { // so that the list never names files that a crash could lose
		return err
	}
	if err := s.writeIndex(); err != nil {
		return err
	}
	l := list{MadeBy: madeBy, Format: format, Removed: s.removed}
	var b bytes.Buffer
	head, err := json.Marshal(l)
	if err != nil {
		return err
	}
	b.Write(bytes.TrimSuffix(head, []byte("null}")))
	b.WriteString("[")
	for i, x := range s.sessions {
		raw, err := json.Marshal(x)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s\n%s", strings.Repeat(",", min(i, 1)), raw)
	}
	b.WriteString("\n]}\n")
	if err := s.write(ListFile, b.Bytes()); err != nil {
		return err
	}
	return s.folder.Sync()
}

// Skipped returns the files of others that are in the place of ours.
func (s *Site) Skipped() []string { return s.skipped }
