package stdio

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Numbered is what a number in a list stands for.
type Numbered struct {
	Workspace string `json:"workspace,omitempty"` // its folder; "" in a list of the team
	Tape      string `json:"tape"`
	Anywhere  bool   `json:"anywhere,omitempty"` // the list was one of all workspaces
}

// numbers are those of the list that a terminal has shown last.
type numbers struct {
	Leader string              `json:"leader"` // see leader
	Of     map[string]Numbered `json:"of"`
}

// longKept is how long the numbers of a terminal are kept that nobody uses any more.
const longKept = 7 * 24 * time.Hour

// KeepNumbers remembers for the terminal what the numbers of a list stand for, until the list of that name is shown there
// again. So a number means what the user sees, also when the order has changed since. Without a terminal it does nothing;
// if it fails, numbers go by the order of the moment.
func (s *Streams) KeepNumbers(list string, of map[int]Numbered) {
	file, leader := s.numbersFile(list)
	if file == "" || s.JSON || len(of) == 0 {
		return
	}
	kept := numbers{Leader: leader, Of: make(map[string]Numbered, len(of))}
	for n, what := range of {
		kept.Of[strconv.Itoa(n)] = what
	}
	dir := filepath.Dir(file)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	if old, err := os.ReadDir(dir); err == nil {
		for _, e := range old {
			if st, err := e.Info(); err == nil && s.Now().Sub(st.ModTime()) > longKept {
				_ = os.Remove(filepath.Join(dir, e.Name()))
			}
		}
	}
	temp, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return
	}
	_, err = temp.Write(Marshal(kept))
	if closed := temp.Close(); err != nil || closed != nil || os.Rename(temp.Name(), file) != nil {
		_ = os.Remove(temp.Name())
	}
}

// NumberOf returns what a number stands for in the list that the terminal has shown last.
func (s *Streams) NumberOf(list string, n int) (of Numbered, ok bool) {
	file, leader := s.numbersFile(list)
	if file == "" {
		return of, false
	}
	raw, err := os.ReadFile(file)
	var kept numbers
	if err != nil || json.Unmarshal(raw, &kept) != nil || kept.Leader != leader {
		return of, false
	}
	of, ok = kept.Of[strconv.Itoa(n)]
	return of, ok
}

// numbersFile returns the file for the terminal's session, and what tells that session from others with its number; "" if
// there is no terminal.
func (s *Streams) numbersFile(list string) (file, leader string) {
	if !IsTerminal(s.Stdin) && !IsTerminal(s.Stdout) && !IsTerminal(s.Stderr) {
		return "", ""
	}
	session := terminalSession()
	cache, err := os.UserCacheDir()
	if err != nil || session <= 0 {
		return "", ""
	}
	return filepath.Join(cache, "tape", "numbers", strconv.Itoa(session)+"-"+list+".json"), leaderOf(session)
}

// leaderOf returns when the leader of a session began, on Linux in ticks since the machine started; "" if it is unknown.
func leaderOf(session int) string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(session) + "/stat")
	if err != nil {
		return ""
	}
	const beginning = 19 // fields after the name, which is in parentheses and may have any character; see proc(5)
	rest := raw[bytes.LastIndexByte(raw, ')')+1:]
	fields := strings.Fields(string(rest))
	if len(fields) <= beginning {
		return ""
	}
	return fields[beginning]
}
