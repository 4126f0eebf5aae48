package models

import "strings"

// thinkTags finds thoughts in tags at the beginning of a text, as models write them behind servers that do not take
// them out: https://github.com/ggml-org/llama.cpp (--reasoning-format), https://docs.vllm.ai (reasoning outputs).
type thinkTags struct {
	held  string // not decided yet, or the possible beginning of the closing tag
	open  string // the closing tag, while the thoughts last
	tags  [2]string
	said  bool // the answer has begun
	after bool // only white space has come since the thoughts

	assumed bool // the model thinks first, without an opening tag
	begun   bool // it is known that the text does not begin with the tag
}

// tagsAssumed are tags for a model that does not write the opening one.
func tagsAssumed() thinkTags {
	tag := thinkingTags()[0]
	return thinkTags{tags: tag, open: tag[1], assumed: true}
}

func thinkingTags() [][2]string {
	return [][2]string{{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"}, {"[THINK]", "[/THINK]"}, {"<seed:think>", "</seed:think>"},
		{"<|channel>thought", "<channel|>"}, {"<|channel|>analysis<|message|>", "<|end|>"}, {"<|start|>assistant", ""}, {"<|channel|>final<|message|>", ""}} // Gemma 4, gpt-oss
}

// split returns what is thought and what is said in the next piece of a text.
func (t *thinkTags) split(delta string) (thought, said string) {
	if t.said {
		return "", delta
	}
	t.held += delta
	if t.assumed && !t.begun {
		begin := strings.TrimLeft(t.held, " \t\r\n")
		if strings.HasPrefix(t.tags[0], begin) && begin != t.tags[0] {
			return "", ""
		}
		t.begun, t.held = true, strings.TrimPrefix(begin, t.tags[0])
	}
	if t.open == "" {
		begin := strings.TrimLeft(t.held, " \t\r\n")
		possible := begin == ""
		for _, tag := range thinkingTags() {
			if rest, ok := strings.CutPrefix(begin, tag[0]); ok && tag[1] == "" {
				t.held, t.after = "", true
				return t.split(rest)
			} else if ok {
				t.tags, t.open, t.held = tag, tag[1], strings.TrimLeft(rest, "\r\n")
				break
			}
			possible = possible || strings.HasPrefix(tag[0], begin)
		}
		if t.open == "" {
			switch {
			case possible:
				return "", ""
			case t.after:
				t.held = begin
			}
			t.said = true
			said, t.held = t.held, ""
			return "", said
		}
	}
	thought, rest, closed := strings.Cut(t.held, t.open)
	if !closed {
		n := unfinished(t.held, t.open)
		thought, t.held = t.held[:len(t.held)-n], t.held[len(t.held)-n:]
		return thought, ""
	}
	t.open, t.held, t.after = "", "", true
	more, said := t.split(rest)
	return strings.TrimRight(thought, "\r\n") + more, said
}

// rest returns what was held back at the end of a text.
func (t *thinkTags) rest() (thought, said string) {
	held := t.held
	t.held = ""
	switch {
	case t.open != "":
		return held, ""
	case t.after:
		return "", ""
	}
	return "", held
}

// unfinished returns how many bytes at the end of a text may be the beginning of a tag.
func unfinished(text, tag string) int {
	for n := min(len(text), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// lateTag finds thoughts of which only the end is marked, as by models whose template has the opening tag at the end of
// the prompt (vllm-project/vllm#31045). A text that only speaks of the tag quotes it.
func lateTag(text string) (thought, said string, found bool) {
	tag := thinkingTags()[0]
	thought, said, found = strings.Cut(text, tag[1])
	if !found || strings.Contains(text, tag[0]) || strings.Contains(said, tag[1]) || strings.Contains(thought, "```") {
		return "", text, false
	}
	if before, after := strings.TrimRight(thought, " "), strings.TrimLeft(said, " "); before != "" && strings.ContainsAny(before[len(before)-1:], "`'\"(") || after != "" && strings.ContainsAny(after[:1], "`'\").,;") {
		return "", text, false
	}
	return strings.TrimSpace(thought), strings.TrimLeft(said, " \t\r\n"), true
}
