package conformance

import "testing"

// Every format of every operand to every format of the result, of what nearly every other expression is made of.
var combinations = []row{
	{expr: "a(i) = b(i)", formats: "any->any"},
	{expr: "A(i,j) = B(i,j)", formats: "any->any"},
	{expr: "A(i,j) = B(j,i)", formats: "any->any", types: "f32"},
	{expr: "a(i) = b(i) * c(i)", formats: "any,any->any"},
	{expr: "a(i) = b(i) + c(i)", formats: "any,any->any"},
	{expr: "A(i,j) = B(i,j) * C(i,j)", formats: "any,any->any", types: "f64"},
	{expr: "A(i,j) = B(i,j) + C(i,j)", formats: "any,any->any", types: "f32"},
	{expr: "A(i,j) = B(i,j) - C(j,i)", formats: "any,any->any", types: "f64"},
	{expr: "A(i,k) = B(i,j) * C(j,k)", formats: "any,any->any", types: "f64"},
	{expr: "A(i,k) = B(j,i) * C(j,k)", formats: "any,any->any", types: "f32"},
	{expr: "y(i) = A(i,j) * x(j)", formats: "any,any->any"},
	{expr: "y(j) = A(i,j) * x(i)", formats: "any,any->any", types: "f32"},
	{expr: "a = B(i,j)", formats: "any->"},
	{expr: "a(i) = B(i,j)", formats: "any->any"},
	{expr: "a(j) = B(i,j)", formats: "any->any", types: "f64"},
	{expr: "A(i,j,k) = B(i,j,k)", formats: "any->any", types: "f64"},
	{expr: "A(i,j,k) = B(k,i,j)", formats: "any->any", types: "f32"},
	{expr: "A(i,j,k) = B(i,j,k) * C(i,j,k)", formats: "any,any->any", types: "f64"},
	{expr: "A(i,j,k) = B(i,j,k) + C(i,j,k)", formats: "any,any->any", types: "f64"},
	{expr: "a = B(i,j,k)", formats: "any->"},
}

func TestCombinations(t *testing.T) { checkAll(t, combinations) }
