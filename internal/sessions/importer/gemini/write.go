package gemini

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type object = map[string]any

// writer writes sessions that Gemini CLI resumes, as version 0.61 takes them.
var writer = record.Writer{Files: write}

// rootFile is the file in a project's folder that names the project's directory.
const rootFile = ".project_root"

func write(user record.Where, s *record.Session) ([]record.File, error) {
	began := record.Stamp(s.Began)
	s.Line(object{"sessionId": s.ID, "projectHash": fmt.Sprintf("%x", sha256.Sum256([]byte(s.Dir))), "startTime": began, "lastUpdated": began, "kind": "main"})
	for i, m := range s.Messages {
		said := parts(m.Blocks)
		if m.Model {
			put(s, object{"type": "gemini", "content": said, "toolCalls": calls(s, m, s.Results(i))})
		} else if len(said) > 0 {
			put(s, object{"type": "user", "content": said})
		}
	}
	folder, isNew, err := projectFolder(filepath.Join(folder(user), "tmp"), s.Dir)
	if err != nil {
		return nil, err
	}
	name := "session-" + s.Began.UTC().Format("2006-01-02T15-04") + "-" + s.ID[:8] + ".jsonl"
	files := []record.File{{Path: filepath.Join(folder, "chats", name), Data: s.Lines()}}
	if isNew {
		files = append([]record.File{{Path: filepath.Join(folder, rootFile), Data: []byte(s.Dir)}}, files...)
	}
	return files, nil
}

func put(s *record.Session, m object) {
	m["id"], m["timestamp"] = s.NewID(), record.Stamp(s.Next())
	s.Line(m)
}

// parts returns what was said and shown.
func parts(blocks []record.Block) []object {
	out := []object{}
	for _, b := range blocks {
		switch {
		case b.Image != nil:
			out = append(out, object{"inlineData": object{"mimeType": b.Image.Media, "data": b.Image.Base64}})
		case b.Text != "":
			out = append(out, object{"text": b.Text})
		}
	}
	return out
}

// calls returns the calls in an answer with their results.
func calls(s *record.Session, m record.WrittenMessage, results map[string]*record.Answered) []object {
	out := []object{}
	for _, b := range m.Blocks {
		if b.Call == nil {
			continue
		}
		call := object{"id": b.Call.ID, "name": b.Call.Name, "args": json.RawMessage(b.Call.Input), "status": "success", "timestamp": record.Stamp(s.Next())}
		if r := results[b.Call.ID]; r != nil {
			if r.Failed {
				call["status"] = "error"
			}
			call["result"] = []object{{"functionResponse": object{"id": r.ID, "name": r.Name, "response": object{"output": r.Text}}}}
			call["resultDisplay"] = r.Text
		}
		out = append(out, call)
	}
	return out
}

// projectFolder returns the folder in tmp for a project's directory, and whether it has to be made: the program
// takes the one whose rootFile names the directory.
func projectFolder(tmp, dir string) (folder string, isNew bool, err error) {
	list, err := os.ReadDir(tmp)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, err
	}
	for _, e := range list {
		root, err := os.ReadFile(filepath.Join(tmp, e.Name(), rootFile))
		if err == nil && strings.TrimSpace(string(root)) == dir {
			return filepath.Join(tmp, e.Name()), false, nil
		}
	}
	// The project may have a name, but no folder yet.
	known, _ := os.ReadFile(filepath.Join(filepath.Dir(tmp), "projects.json"))
	name := jsonl.GetString(known, "projects", dir)
	for n := 0; name == ""; n++ {
		name = slug(filepath.Base(dir))
		if n > 0 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		if _, err := os.Lstat(filepath.Join(tmp, name)); err == nil || isTaken(known, name) {
			name = ""
		}
	}
	return filepath.Join(tmp, name), true, nil
}

func isTaken(known []byte, name string) bool {
	for _, v := range jsonl.Fields(jsonl.Get(known, "projects")) {
		if record.Text(v) == name {
			return true
		}
	}
	return false
}

// slug returns a name in lower case, with a dash for each other run of characters.
func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	if len(words) == 0 {
		return "project"
	}
	return strings.Join(words, "-")
}
