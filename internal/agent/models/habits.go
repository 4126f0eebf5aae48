package models

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tape/hooks"
	"tape/repo/view"
)

// habits are what the server of a model has refused, so that it does not get it again.
type habits struct {
	given map[string]bool // what is left out or done otherwise
	limit int             // the most tokens that an answer may have; 0: not known
	once  int             // the same for the next request only
	image map[string]bool // by [pictureID]: pictures that are left out
	tool  map[string]int  // by name: 1, the schema is a plain one; 2, the tool is left out
}

// What can be given up, or done in another way.
const (
	withoutUsage    = "stream_options"
	withoutStream   = "stream"
	withoutLimit    = "a limit of the answer"
	otherLimit      = "this name of the limit"
	withoutSystem   = "a system prompt of its own"
	withoutPictures = "pictures"
	withoutKept     = "reasoning"
	withoutCache    = "cache_control"
	alternating     = "messages that do not alternate"
	plainSchemas    = "more than simple schemas"
	oneCallEach     = "several calls in one message"
	withoutBlanks   = "empty texts"
	sameIDs         = "ids of calls that come again"
	longIDs         = "ids of calls of more than 9 letters"
	onlyTexts       = "contents that are not texts"
	namelessResults = "results without a name"
	listedSystem    = "a list as system prompt"
	withoutStore    = "store"
	withoutStrict   = "strict"
	withoutTools    = "tools"
	thinksFirst     = "an opening tag of the thoughts" // the model's template has it at the end of the prompt
	fillReasoning   = "calls without reasoning_content"
	fillSignature   = "calls without a thought_signature"
)

func (h habits) gave(what string) bool { return h.given[what] }

// change is a change of habits, after a refusal.
type change struct {
	what   string
	notice string // for the person; "": they need not know
	to     habits
}

// habitsOf returns what is known of the server of a model, and forgets what counts once.
func (c *Client) habitsOf(p *provider, model string) habits {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.habits == nil {
		c.habits = recalled(c.settings.memory)
	}
	h := c.habits[p.id(model)]
	if h.once > 0 {
		c.habits[p.id(model)] = h.copied()
	}
	return h
}

// remember keeps a change for the requests to come.
func (c *Client) remember(p *provider, model string, ch change) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.habits[p.id(model)] = ch.to
	if ch.notice != "" || ch.to.once > 0 {
		return nil
	}
	return ch.to.keep(c.settings.memory, p.id(model))
}

// with returns h with one thing more given up.
func (h habits) with(what, notice string) (change, bool) {
	to := h.copied()
	to.given[what] = true
	return change{what, notice, to}, !h.given[what]
}

// thinkingFirst is the change after an answer with a closing tag of thoughts alone, or after one without any.
func (h habits) thinkingFirst(yes bool) change {
	ch, _ := h.with(thinksFirst, "")
	if !yes {
		delete(ch.to.given, thinksFirst)
	}
	return ch
}

func (h habits) copied() habits {
	to := habits{given: map[string]bool{}, tool: map[string]int{}, image: map[string]bool{}, limit: h.limit}
	maps.Copy(to.image, h.image)
	maps.Copy(to.given, h.given)
	maps.Copy(to.tool, h.tool)
	return to
}

// withoutImages leaves out all pictures, or those of the request.
func (h habits) withoutImages(text string, q request) (change, bool) {
	if containsAny(text, blindWords) {
		return h.with(withoutPictures, "the model takes no pictures or files; it gets a note in their place")
	}
	to := h.copied()
	for _, id := range q.images {
		to.image[id] = true
	}
	return change{withoutPictures, "the server refuses a picture or a file; the model gets a note in its place", to}, true
}

func containsAny(text string, list []string) bool {
	return slices.ContainsFunc(list, func(words string) bool { return inOrder(text, words) })
}

// without returns the habits with which a refused request may be made again. ok is false if nothing in it was refused
// that can be left out, or if that was tried.
func (h habits) without(f *failure, q request) (ch change, ok bool) {
	text := strings.ToLower(f.code + " " + f.text)
	if found := affordable.FindStringSubmatch(text); found != nil && f.status == 402 {
		if n, err := strconv.Atoi(found[1]); err == nil && n >= leastLowered && (q.limit == 0 || n < q.limit) {
			to := h.copied()
			to.once = n
			return change{what: "so long an answer", to: to}, true
		}
	}
	switch {
	case f.status == 401 || f.status == 402 || f.status == 403 || f.status == 408 || f.status == 429:
		return change{}, false
	case f.status != 0 && f.status < 400:
		return change{}, false
	}
	if ch, ok := h.lowered(text, q); ok {
		return ch, true
	}
	large := f.status == 413 || strings.Contains(text, "size") || strings.Contains(text, "bytes")
	if pictures := len(q.images) > 0; pictures && f.overflow() && large || pictures && !f.overflow() && containsAny(text, pictureWords) {
		return h.withoutImages(text, q)
	}
	if f.overflow() {
		return change{}, false
	}
	for _, r := range refusals() {
		if containsAny(text, r.words) && r.has(q) {
			notice := ""
			if r.what == withoutTools {
				notice = noTools(text)
			}
			if ch, ok := h.with(r.what, notice); ok {
				return ch, true
			}
		}
	}
	if f.status == 0 || f.status >= 500 && f.status != 500 {
		return change{}, false
	}
	if ch, ok := h.withoutTool(text, q); ok {
		return ch, true
	}
	if len(q.images) > 0 && (f.status == 400 || f.status == 404 || f.status == 415 || f.status == 422) {
		return h.withoutImages(text, q) // a picture must not block the session for good
	}
	return change{}, false
}

var numbers = regexp.MustCompile(`\d[\d,_]*`)

// numbersIn returns the whole numbers in a text.
func numbersIn(text string) (list []int) {
	for _, found := range numbers.FindAllString(text, -1) {
		if n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(found)); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// inContext finds a window, its input and the output that was asked for: "exceed context limit: 188240 + 21333 > 200000"
// of Anthropic; "maximum context length is 4096 tokens. However, you requested … (3000 in the messages, 2000 in the
// completion)" of OpenAI and vLLM.
var inContext = []*regexp.Regexp{
	regexp.MustCompile(`context limit: (?P<in>\d+) \+ (?P<out>\d+) > (?P<all>\d+)`),
	regexp.MustCompile(`context length is (?P<all>\d+) tokens.*?\((?P<in>\d+) (?:in the|of the|of) (?:text )?(?:messages|input|prompt)[^)]*?(?P<out>\d+) (?:in|of) the (?:completion|output)`),
	regexp.MustCompile(`context length is (?P<all>\d+) tokens.*?requested (?P<out>\d+) output tokens and your prompt contains at least (?P<in>\d+)`),
}

// affordable finds how long an answer may be for what is left of a user's credits (OpenRouter: can1357/oh-my-pi#9569,
// Gitlawb/openclaude#1125).
var affordable = regexp.MustCompile(`can only afford (\d+)`)

// leastLowered is the fewest tokens that an answer is given when only the limit of the answer makes a request too long.
const leastLowered = 2048

// lowered gives an answer fewer tokens, or names the limit otherwise, if that was refused.
func (h habits) lowered(text string, q request) (change, bool) {
	if q.limit == 0 {
		return change{}, false
	}
	for _, pattern := range inContext {
		if found := pattern.FindStringSubmatch(text); found != nil {
			all, _ := strconv.Atoi(found[pattern.SubexpIndex("all")])
			in, _ := strconv.Atoi(found[pattern.SubexpIndex("in")])
			if left := all - in - 64; left >= leastLowered && left < q.limit {
				to := h.copied()
				to.once = left
				return change{what: "so long an answer", to: to}, true
			}
			return change{}, false
		}
	}
	said := false
	for _, name := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "maxtokens", "output tokens", "completion tokens"} {
		said = said || strings.Contains(text, name)
	}
	if !said || strings.Contains(text, "context") && strings.Contains(text, "exceed") {
		return change{}, false
	}
	best := 0
	for _, n := range numbersIn(text) {
		if n < q.limit && n > best && n >= 256 && n != 400 && n != 422 {
			best = n
		}
	}
	if best > 0 {
		to := h.copied()
		to.limit = best
		return change{what: "more than " + strconv.Itoa(best) + " tokens of an answer", to: to}, true
	}
	if ch, ok := h.with(otherLimit, ""); ok && q.api == apiChat {
		return ch, true
	}
	if q.api == apiMessages { // which wants a number
		return change{}, false
	}
	return h.with(withoutLimit, "")
}

// tools returns the tools that are not left out.
func (h habits) tools(list []hooks.Tool) []hooks.Tool {
	var out []hooks.Tool
	for _, t := range list {
		if h.tool[t.Name] < 2 && !h.gave(withoutTools) {
			out = append(out, t)
		}
	}
	return out
}

// toolIndex finds the number of a tool: tools.3.custom.input_schema (Anthropic), tools[3].function.parameters (OpenAI).
// declared does so in tools[0].function_declarations[3] (Gemini, which names many at once: zed-industries/zed#44875).
var (
	toolIndex = regexp.MustCompile(`(?:tools|functions)(?:\.|\[)(\d+)`)
	declared  = regexp.MustCompile(`function_?declarations(?:\.|\[)(\d+)`)
)

// withoutTool gives the tool that a server refuses a plain schema, and then leaves it out. If the server does not say
// which one it is, all get plain schemas.
func (h habits) withoutTool(text string, q request) (change, bool) {
	about := false
	for _, words := range []string{"schema", "tool", "function", "parameters", "properties", "$ref", "$defs", "anyof"} {
		about = about || strings.Contains(text, words)
	}
	if !about || len(q.tools) == 0 {
		return change{}, false
	}
	if ch, ok := h.fewerTools(text, q); ok {
		return ch, true
	}
	named := namedTools(text, q.tools)
	if len(named) == 0 || len(named) > 1 && !h.gave(plainSchemas) {
		return h.with(plainSchemas, "")
	}
	to := h.copied()
	var out []string
	for _, name := range named {
		if to.tool[name]++; to.tool[name] > 1 || h.gave(plainSchemas) {
			to.tool[name] = 2
			out = append(out, name)
		}
	}
	if len(out) > 0 {
		list := strings.Join(out, ", ")
		return change{"the tools " + list, "the server refuses the schema of " + list + ": the model goes on without it", to}, true
	}
	return change{"the whole schema of " + strings.Join(named, ", "), "", to}, true
}

// manyWords say that a request has too many tools: Invalid 'tools': array too long. Expected an array with maximum length
// 128 (OpenAI, keinsaasforever/better-chatbot#197); at most 20 tools.
var manyWords = []string{"array too long", "maximum length", "too many tools", "too many functions", "number of tools", "number of functions", "maximum of", "at most", "more than", "up to"}

// fewerTools leaves out the last tools, if there are too many.
func (h habits) fewerTools(text string, q request) (change, bool) {
	most := 0
	for _, n := range numbersIn(text) {
		if n < len(q.tools) {
			most = max(most, n)
		}
	}
	if !containsAny(text, manyWords) || toolIndex.MatchString(text) || most < 4 {
		return change{}, false
	}
	to := h.copied()
	var out []string
	for _, t := range q.tools[most:] {
		to.tool[t.Name] = 2
		out = append(out, t.Name)
	}
	list := strings.Join(out, ", ")
	return change{"the tools " + list, fmt.Sprintf("the server takes at most %d tools: the model goes on without %s", most, shorten(list)), to}, true
}

// namedTools returns the tools that a refusal is about: by the longest name in it, or by their numbers.
func namedTools(text string, list []hooks.Tool) (named []string) {
	indexes := declared.FindAllStringSubmatch(text, -1)
	if len(indexes) == 0 {
		longest := ""
		for _, t := range list {
			if shown := view.ToolName(t.Name); len(shown) > len(longest) && containsWord(text, strings.ToLower(shown)) {
				longest, named = shown, []string{t.Name}
			}
		}
		if longest != "" {
			return named
		}
		indexes = toolIndex.FindAllStringSubmatch(text, -1)
	}
	for _, found := range indexes {
		if n, err := strconv.Atoi(found[1]); err == nil && n < len(list) && !slices.Contains(named, list[n].Name) {
			named = append(named, list[n].Name)
		}
	}
	return named
}

// containsWord reports whether a name is in a text, and is not a part of a longer one.
func containsWord(text, name string) bool {
	part := func(c byte) bool {
		return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z'
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		begin := from + i
		end := begin + len(name)
		if (begin == 0 || !part(text[begin-1])) && (end == len(text) || !part(text[end])) {
			return true
		}
		from = begin + 1
	}
}
