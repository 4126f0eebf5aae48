package chatui

import (
	"strings"

	"tape/internal/show/display"
)

// stream is a Markdown text that is being written. It is cut into blocks where later text cannot change the
// meaning of the text before.
type stream struct {
	Renderer *renderer // may be replaced at any time, for example when the terminal's width changes

	block string // the text of the block that is not complete
	start int    // where the block's incomplete line begins
	fence string // the marks of an open code fence
	blank bool   // the last complete line is blank
	list  bool   // the block is a list
	begun bool   // a block was returned
}

// Write adds text, and returns the lines of the blocks that it completes.
func (s *stream) Write(text string) (done []string) {
	s.block += text
	for {
		n := strings.IndexByte(s.block[s.start:], '\n')
		if n < 0 {
			return done
		}
		line, begins := s.block[s.start:s.start+n], s.start
		s.start += n + 1
		bare := strings.TrimSpace(line)
		switch {
		case s.fence != "":
			if strings.HasPrefix(bare, s.fence) && strings.Trim(bare, s.fence[:1]) == "" {
				s.fence = ""
			}
			continue
		case bare == "":
			s.blank = true
			continue
		case s.blank && line[0] != ' ' && line[0] != '\t' && (!s.list || !isItem(line)):
			done = append(done, s.end(s.block[:begins])...)
			s.block, s.start = s.block[begins:], n+1
			begins = 0
		}
		if s.blank = false; strings.TrimSpace(s.block[:begins]) == "" {
			s.list = isItem(line)
		}
		s.fence = display.Fence(bare)
	}
}

// end renders a complete block. A blank line separates it from the block before.
func (s *stream) end(block string) []string {
	lines := s.Renderer.Lines(block)
	if len(lines) > 0 && s.begun {
		lines = append([]string{""}, lines...)
	}
	s.begun = s.begun || len(lines) > 0
	return lines
}

// Close returns the lines of the incomplete block. The stream can then be used for another text.
func (s *stream) Close() []string {
	lines := s.end(s.block)
	*s = stream{Renderer: s.Renderer}
	return lines
}

// Live returns the incomplete block as it looks now: at most rows lines, the last ones.
func (s *stream) Live(rows int) []string {
	text := s.block
	if most := min(maxLive, rows*(s.Renderer.width+1)); len(text) > most {
		text = strings.ToValidUTF8(text[len(text)-most:], "")
		if all := strings.SplitAfter(text, "\n"); len(all) > 1 { // whole lines, and as many as can be seen
			text = strings.Join(all[max(1, len(all)-rows-1):], "")
		}
		if s.fence != "" {
			first, _, _ := strings.Cut(s.block, "\n")
			text = first + "\n" + text
		}
	}
	lines := s.Renderer.Lines(text)
	if len(lines) > 0 && s.begun {
		lines = append([]string{""}, lines...)
	}
	return lines[max(0, len(lines)-rows):]
}

func isItem(line string) bool {
	if rest, ok := strings.CutPrefix(line, "- "); ok || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "+ ") {
		return !ok || strings.Trim(rest, "- ") != "" // else it is a rule
	}
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	return digits > 0 && digits < 10 && (strings.HasPrefix(line[digits:], ". ") || strings.HasPrefix(line[digits:], ") "))
}
