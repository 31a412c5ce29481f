// Renders a chart as `helm template` does, with the same template engine and functions, where helm itself is not to be had:
// render-chart CHART RELEASE [VALUES]. Stricter than helm: a value that does not exist is an error.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(path string) map[string]interface{} {
	text, err := os.ReadFile(path)
	must(err)
	document := map[string]interface{}{}
	must(yaml.Unmarshal(text, &document))
	return document
}

func merge(into, from map[string]interface{}) {
	for key, value := range from {
		below, isMap := value.(map[string]interface{})
		old, wasMap := into[key].(map[string]interface{})
		if isMap && wasMap {
			merge(old, below)
		} else {
			into[key] = value
		}
	}
}

func main() {
	chart, release := os.Args[1], os.Args[2]
	values := read(filepath.Join(chart, "values.yaml"))
	if len(os.Args) > 3 {
		merge(values, read(os.Args[3]))
	}
	about := read(filepath.Join(chart, "Chart.yaml"))
	data := map[string]interface{}{
		"Values":  values,
		"Release": map[string]interface{}{"Name": release, "Namespace": "default", "Service": "Helm"},
		"Chart":   map[string]interface{}{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
	}
	all := template.New("chart").Option("missingkey=error").Funcs(sprig.TxtFuncMap())
	all.Funcs(template.FuncMap{
		"include": func(name string, data interface{}) (string, error) {
			var out strings.Builder
			err := all.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"toYaml": func(value interface{}) (string, error) {
			text, err := yaml.Marshal(value)
			return strings.TrimSuffix(string(text), "\n"), err
		},
	})
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	must(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(err)
		_, err = all.New(filepath.Base(file)).Parse(string(text))
		must(err)
	}
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), "_") {
			continue
		}
		fmt.Printf("---\n# Source: %s\n", filepath.Base(file))
		must(all.ExecuteTemplate(os.Stdout, filepath.Base(file), data))
		fmt.Println()
	}
}
