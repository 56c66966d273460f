// Evaluates PromQL expressions on made-up series, with the engine of Prometheus.
//
// Reads {"series": [{"labels": {...}, "values": [...]}], "expressions": ["..."]} from its standard input. The values of a
// series are one minute apart; null says that the series is not there. Writes for each expression
// {"series": [...], "selectors": [{"metric": "...", "labels": [...]}]}: what it is every minute, and what it asks for. An
// expression that is none ends it with status 1.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

type series struct {
	Labels map[string]string `json:"labels"`
	Values []*float64        `json:"values"`
}

type question struct {
	Series      []series `json:"series"`
	Expressions []string `json:"expressions"`
}

type selector struct {
	Metric string   `json:"metric"`
	Labels []string `json:"labels"`
}

type answer struct {
	Series    []series   `json:"series"`
	Selectors []selector `json:"selectors"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var asked question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return err
	}
	minutes := 1
	for _, each := range asked.Series {
		minutes = max(minutes, len(each.Values))
	}
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples:    1_000_000,
		Timeout:       30 * time.Second,
		LookbackDelta: 5 * time.Minute,
	})
	answers := make([]answer, 0, len(asked.Expressions))
	for _, expression := range asked.Expressions {
		selectors, err := selectorsOf(expression)
		if err != nil {
			return fmt.Errorf("%s: %w", expression, err)
		}
		values, err := evaluate(engine, asked.Series, expression, minutes)
		if err != nil {
			return fmt.Errorf("%s: %w", expression, err)
		}
		answers = append(answers, answer{values, selectors})
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func selectorsOf(expression string) ([]selector, error) {
	parsed, err := parser.ParseExpr(expression)
	if err != nil {
		return nil, err
	}
	var found []selector
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if vector, ok := node.(*parser.VectorSelector); ok {
			names := []string{}
			for _, matcher := range vector.LabelMatchers {
				if matcher.Name != labels.MetricName {
					names = append(names, matcher.Name)
				}
			}
			found = append(found, selector{vector.Name, names})
		}
		return nil
	})
	return found, nil
}

func evaluate(engine *promql.Engine, data []series, expression string, minutes int) ([]series, error) {
	ctx := context.Background()
	end := time.Unix(int64(minutes-1)*60, 0)
	query, err := engine.NewRangeQuery(ctx, queryable(data), nil, expression, time.Unix(0, 0), end, time.Minute)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	result := query.Exec(ctx)
	matrix, err := result.Matrix()
	if err != nil {
		return nil, err
	}
	found := make([]series, 0, len(matrix))
	for _, each := range matrix {
		values := make([]*float64, minutes)
		for _, point := range each.Floats {
			values[point.T/60_000] = &point.F
		}
		found = append(found, series{Labels: each.Metric.Map(), Values: values})
	}
	return found, nil
}

func queryable(data []series) storage.Queryable {
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			var found []storage.Series
			for _, each := range data {
				if matches(each.Labels, matchers) {
					found = append(found, storage.NewListSeries(labels.FromMap(each.Labels), samplesOf(each.Values)))
				}
			}
			return newSeriesSet(found)
		},
	}}
}

func matches(of map[string]string, matchers []*labels.Matcher) bool {
	for _, matcher := range matchers {
		if !matcher.Matches(of[matcher.Name]) {
			return false
		}
	}
	return true
}

func samplesOf(values []*float64) []chunks.Sample {
	samples := make([]chunks.Sample, 0, len(values))
	for minute, given := range values {
		// What a scrape notes of a series that is gone.
		now := math.Float64frombits(value.StaleNaN)
		if given != nil {
			now = *given
		}
		samples = append(samples, sample{int64(minute) * 60_000, now})
	}
	return samples
}
