package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"tape/internal/store/prices"
)

// providers are the makers whose own prices are taken from models.dev. Of two with the same model, the first counts.
var providers = []string{"anthropic", "openai", "google", "xai", "deepseek", "mistral", "moonshotai", "zai", "alibaba", "minimax", "xiaomi", "stepfun"}

// price has dollars per million tokens; nil is not known.
type price struct {
	Input      *float64 `toml:"input"`
	Output     *float64 `toml:"output"`
	CacheRead  *float64 `toml:"cache_read"`
	CacheWrite *float64 `toml:"cache_write"`
	hour       *float64 // a cache write for an hour
}

// pricesFrom writes the table of prices that comes with tape, from two public lists, which it reads from disk: a checkout of
// models.dev, and the model_prices_and_context_window.json of LiteLLM. Only numbers are taken.
func pricesFrom(args []string) error {
	flags := flag.NewFlagSet("prices", flag.ExitOnError)
	dir := flags.String("models-dev", "", "checkout of models.dev")
	dirSource := flags.String("models-dev-source", "", "its commit and date")
	file := flags.String("litellm", "", "LiteLLM's list")
	fileSource := flags.String("litellm-source", "", "its commit and date")
	_ = flags.Parse(args)
	list, err := fromModelsDev(*dir)
	if err == nil {
		err = addLiteLLM(list, *file)
	}
	if err == nil {
		err = writePrices(list, "models.dev "+*dirSource, "LiteLLM's list "+*fileSource)
	}
	return err
}

func fromModelsDev(dir string) (map[string]price, error) {
	out := map[string]price{}
	for _, provider := range providers {
		folder := filepath.Join(dir, "providers", provider, "models")
		files, err := filepath.Glob(filepath.Join(folder, "*.toml"))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("no models in %s: %w", folder, err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			var model struct {
				Cost price `toml:"cost"`
			}
			if err := toml.Unmarshal(raw, &model); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			addPrice(out, strings.TrimSuffix(filepath.Base(file), ".toml"), model.Cost)
		}
	}
	return out, nil
}

// addPrice adds a model, unless it is known, or costs nothing: what has no price is said to have none.
func addPrice(list map[string]price, model string, p price) {
	name := prices.Normal(model)
	if _, known := list[name]; known || p.Input == nil || p.Output == nil || *p.Input+*p.Output == 0 {
		return
	}
	list[name] = p
}

// addLiteLLM adds the models that models.dev lacks, and what a cache write for an hour costs.
func addLiteLLM(list map[string]price, file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var models map[string]struct {
		Provider   string   `json:"litellm_provider"`
		Mode       string   `json:"mode"`
		Input      *float64 `json:"input_cost_per_token"`
		Output     *float64 `json:"output_cost_per_token"`
		CacheRead  *float64 `json:"cache_read_input_token_cost"`
		CacheWrite *float64 `json:"cache_creation_input_token_cost"`
		Hour       *float64 `json:"cache_creation_input_token_cost_above_1hr"`
	}
	if err := json.Unmarshal(raw, &models); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	million := func(n *float64) *float64 {
		if n == nil {
			return nil
		}
		million := *n * 1e6
		return &million
	}
	own := []string{"anthropic", "openai", "gemini", "xai", "deepseek", "mistral", "moonshot", "zai"}
	for _, model := range slices.Sorted(maps.Keys(models)) {
		m := models[model]
		if !slices.Contains(own, m.Provider) || m.Mode != "chat" && m.Mode != "responses" {
			continue
		}
		p := price{million(m.Input), million(m.Output), million(m.CacheRead), million(m.CacheWrite), million(m.Hour)}
		if p.hour != nil && p.Input != nil && (*p.hour < *p.Input || *p.hour > 2.5**p.Input) {
			p.hour = nil // Anthropic takes twice the price of input: the list has another model's
		}
		addPrice(list, model, p)
		name := prices.Normal(model)
		if known := list[name]; known.hour == nil && p.hour != nil {
			known.hour = p.hour
			list[name] = known
		}
	}
	return nil
}

func writePrices(list map[string]price, sources ...string) error {
	out := bufio.NewWriter(os.Stdout)
	for _, source := range sources {
		fmt.Fprintf(out, "# %s\n", source)
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		p := list[name]
		fmt.Fprint(out, name)
		for _, n := range []*float64{p.Input, p.Output, p.CacheRead, p.CacheWrite, p.hour} {
			if n == nil {
				fmt.Fprint(out, " -")
				continue
			}
			fmt.Fprint(out, " ", strconv.FormatFloat(*n, 'g', 6, 64))
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}
