package infer

// spread is what Tensor has of how entries lie: filled rows, the skew of rows and columns, and the reach.
type spread struct {
	filled int64
	skew   []int64
	reach  int64
}

// measured is what real matrices have: rows, columns, entries, how those are spread, also in the square, and the entries of
// products, sums and chains of them. They are from the SuiteSparse collection, SNAP, KONECT, Planetoid, Netlib and others; "permuted"
// is the matrix with its rows in another order. The estimator was made with the first 37, before the others were measured.
var measured = []struct {
	name               string
	rows, columns, nnz int64
	spread, square     spread
	fill               map[string]int64
}{
	{"gnn/cora_adj", 2708, 2708, 10556, spread{2708, []int64{2, 2}, 512}, spread{2708, []int64{4, 4}, 512}, map[string]int64{"A A'": 94728, "A A": 94728, "A + A'": 10556, "A * A'": 10556, "A A A": 330614}},
	{"gnn/citeseer_adj", 3327, 3327, 9228, spread{3327, []int64{2, 2}, 512}, spread{3327, []int64{4, 4}, 512}, map[string]int64{"A A'": 45091, "A A": 45091, "A + A'": 9228, "A * A'": 9228, "A A A": 133451}},
	{"gnn/pubmed_adj", 19717, 19717, 88651, spread{19717, []int64{4, 4}, 512}, spread{19717, []int64{4, 4}, 512}, map[string]int64{"A A'": 1125829, "A A": 1125829, "A + A'": 88651, "A * A'": 88651, "A A A": 7357215}},
	{"gnn/amazon_photo_adj", 7650, 7650, 143663, spread{7452, []int64{2, 8}, 512}, spread{7445, []int64{2, 4}, 1024}, map[string]int64{"A A'": 5733246, "A A": 1278452, "A + A'": 238163, "A * A'": 49163, "A A A": 4952185}},
	{"gnn/chameleon_directed_adj", 2277, 2277, 36101, spread{2277, []int64{2, 8}, 512}, spread{2277, []int64{2, 8}, 512}, map[string]int64{"A A'": 1228727, "A A": 154350, "A + A'": 62792, "A * A'": 9410, "A A A": 377806}},
	{"gnn/uai_adj", 3067, 3067, 56622, spread{3067, []int64{4, 4}, 512}, spread{3067, []int64{2, 2}, 1024}, map[string]int64{"A A'": 2476911, "A A": 2476911, "A + A'": 56622, "A * A'": 56622, "A A A": 8127579}},
	{"gnn/cora_feat", 2708, 1433, 49216, spread{2708, []int64{1, 4}, 512}, spread{}, map[string]int64{"A A'": 4440676, "A' A": 396212, "A + permuted": 95626, "A * permuted": 2806}},
	{"gnn/amazon_photo_feat", 7650, 745, 1979909, spread{7650, []int64{2, 1}, 1024}, spread{}, map[string]int64{"A + permuted": 3207852, "A * permuted": 751966}},
	{"gnn/acm_feat", 3025, 1870, 253300, spread{3025, []int64{1, 4}, 1024}, spread{}, map[string]int64{"A A'": 9150593, "A' A": 2528858, "A + permuted": 446293, "A * permuted": 60307}},
	{"graphs/fb-Reed98", 962, 962, 37624, spread{962, []int64{2, 2}, 512}, spread{962, []int64{1, 1}, 1024}, map[string]int64{"A A'": 515240, "A A": 515240, "A + A'": 37624, "A * A'": 37624, "A A A": 873651}},
	{"graphs/fb-Amherst41", 2235, 2235, 181908, spread{2235, []int64{2, 2}, 1024}, spread{2235, []int64{1, 1}, 1024}, map[string]int64{"A A'": 2973139, "A A": 2973139, "A + A'": 181908, "A * A'": 181908}},
	{"graphs/airports", 456, 456, 71959, spread{456, []int64{2, 2}, 1024}, spread{456, []int64{1, 1}, 1024}, map[string]int64{"A A'": 207458, "A A": 207528, "A + A'": 75894, "A * A'": 68024}},
	{"graphs/airfoil1", 4253, 4253, 24578, spread{4253, []int64{1, 1}, 16}, spread{4253, []int64{1, 1}, 32}, map[string]int64{"A A'": 76583, "A A": 76583, "A + A'": 24578, "A * A'": 24578, "A A A": 146497}},
	{"graphs/minnesota", 2642, 2642, 6606, spread{2642, []int64{1, 1}, 16}, spread{2642, []int64{1, 1}, 32}, map[string]int64{"A A'": 13810, "A A": 13810, "A + A'": 6606, "A * A'": 6606, "A A A": 23932}},
	{"graphs/PGPgiantcompo", 10680, 10680, 48632, spread{10680, []int64{4, 4}, 512}, spread{10680, []int64{4, 4}, 512}, map[string]int64{"A A'": 421316, "A A": 421316, "A + A'": 48632, "A * A'": 48632, "A A A": 2241905}},
	{"graphs/ppi-homo-sapiens", 3890, 3890, 76584, spread{3890, []int64{4, 4}, 512}, spread{3890, []int64{2, 2}, 1024}, map[string]int64{"A A'": 2737388, "A A": 2737388, "A + A'": 76584, "A * A'": 76584, "A A A": 11066752}},
	{"graphs/as-caida20071105", 26475, 26475, 106762, spread{26475, []int64{64, 64}, 512}, spread{26475, []int64{4, 4}, 1024}, map[string]int64{"A A'": 26880947, "A A": 26880947, "A + A'": 106762, "A * A'": 106762, "A A A": 237530403}},
	{"graphs/soft-jdkdependency", 6434, 6434, 53892, spread{6369, []int64{2, 256}, 512}, spread{6355, []int64{2, 64}, 512}, map[string]int64{"A A'": 36408545, "A A": 250950, "A + A'": 107316, "A * A'": 468, "A A A": 490705}},
	{"graphs/wikipedia-pos", 4777, 4777, 184812, spread{4777, []int64{16, 16}, 512}, spread{4777, []int64{1, 1}, 1024}, map[string]int64{"A A'": 22026829, "A A": 22026829, "A + A'": 184812, "A * A'": 184812}},
	{"suitesparse/G22", 2000, 2000, 39980, spread{2000, []int64{1, 1}, 512}, spread{2000, []int64{1, 1}, 1024}, map[string]int64{"A A'": 727462, "A A": 727462, "A + A'": 39980, "A * A'": 39980, "A A A": 3859767}},
	{"suitesparse/G40", 2000, 2000, 23532, spread{2000, []int64{2, 2}, 512}, spread{2000, []int64{2, 2}, 1024}, map[string]int64{"A A'": 484434, "A A": 484434, "A + A'": 23532, "A * A'": 23532, "A A A": 2933394}},
	{"suitesparse/bcsstk16", 4884, 4884, 290378, spread{4884, []int64{1, 1}, 32}, spread{4884, []int64{1, 1}, 64}, map[string]int64{"A A'": 1038782, "A A": 1038782, "A + A'": 290378, "A * A'": 290378, "A A A": 2191340}},
	{"suitesparse/bwm2000", 2000, 2000, 7996, spread{2000, []int64{1, 1}, 512}, spread{2000, []int64{1, 1}, 512}, map[string]int64{"A A'": 15984, "A A": 15984, "A + A'": 7996, "A * A'": 7996, "A A A": 23964}},
	{"suitesparse/rajat19", 1157, 1157, 5399, spread{1157, []int64{8, 8}, 512}, spread{1157, []int64{2, 2}, 512}, map[string]int64{"A A'": 137701, "A A": 137616, "A + A'": 5824, "A * A'": 4974, "A A A": 444066}},
	{"suitesparse/well1850", 1850, 712, 8758, spread{1850, []int64{1, 8}, 512}, spread{}, map[string]int64{"A A'": 523012, "A' A": 9126, "A + permuted": 17067, "A * permuted": 449}},
	{"suitesparse/dnn_images_1024_subset", 1200, 1024, 122713, spread{1200, []int64{1, 2}, 512}, spread{}, map[string]int64{"A A'": 1439832, "A' A": 341465, "A + permuted": 210446, "A * permuted": 34980}},
	{"suitesparse/Groebner_id2003_aug", 4967, 2456, 173670, spread{4967, []int64{8, 1}, 256}, spread{}, map[string]int64{"A A'": 1388147, "A' A": 4485478, "A + permuted": 344520, "A * permuted": 2820}},
	{"pruned/squeezenet_conv_final", 1000, 512, 102323, spread{1000, []int64{1, 1}, 1024}, spread{}, map[string]int64{"A A'": 999982, "A' A": 262144, "A + permuted": 183567, "A * permuted": 21079}},
	{"pruned/squeezenet_fire9_conv3x3_2", 256, 576, 44173, spread{256, []int64{1, 1}, 1024}, spread{}, map[string]int64{"A A'": 65536, "A' A": 331768, "A + permuted": 74266, "A * permuted": 14080}},
	{"pruned/squeezenet_fire6_conv1x1_2", 192, 48, 4602, spread{192, []int64{1, 1}, 1024}, spread{}, map[string]int64{"A A'": 36864, "A' A": 2304, "A + permuted": 6851, "A * permuted": 2353}},
	{"lp/netlib_pilot", 1441, 3652, 43167, spread{1441, []int64{4, 2}, 512}, spread{}, map[string]int64{"A A'": 124517, "A' A": 794498, "A + permuted": 85410, "A * permuted": 924}},
	{"lp/netlib_maros-r7", 3136, 9408, 144848, spread{3136, []int64{1, 2}, 512}, spread{}, map[string]int64{"A A'": 664080, "A' A": 1230928, "A + permuted": 287897, "A * permuted": 1799}},
	{"lp/netlib_wood1p", 244, 2594, 70215, spread{244, []int64{4, 1}, 256}, spread{}, map[string]int64{"A A'": 36336, "A' A": 6728594, "A + permuted": 133371, "A * permuted": 7059}},
	{"qp/mm_Q25FV47_P", 1571, 1571, 118552, spread{446, []int64{4, 4}, 1024}, spread{446, []int64{4, 4}, 1024}, map[string]int64{"A A'": 153314, "A A": 153314, "A + A'": 118552, "A * A'": 118552}},
	{"qp/mm_STCQP1_P", 4097, 4097, 49109, spread{4097, []int64{4, 4}, 128}, spread{4097, []int64{4, 4}, 128}, map[string]int64{"A A'": 806501, "A A": 806501, "A + A'": 49109, "A * A'": 49109, "A A A": 2232727}},
	{"bipartite/visium-gene-spot", 19465, 2898, 1069459, spread{11443, []int64{8, 2}, 512}, spread{}, map[string]int64{"A + permuted": 2085792, "A * permuted": 53126}},
	{"bipartite/citeulike-a-citations", 16980, 16978, 89418, spread{11714, []int64{4, 4}, 512}, spread{}, map[string]int64{"A A'": 1046246, "A' A": 1046246, "A + permuted": 178758, "A * permuted": 78}},
	{"bipartite/citeulike-a-item-tag", 16980, 46391, 239253, spread{13519, []int64{2, 32}, 512}, spread{}, map[string]int64{"A A'": 25045583, "A + permuted": 476504, "A * permuted": 2002}},
	{"gnn/acm_adj", 3025, 3025, 26256, spread{2464, []int64{4, 4}, 256}, spread{2464, []int64{4, 4}, 512}, map[string]int64{"A A'": 134628, "A A": 134628, "A + A'": 26256, "A * A'": 26256, "A A A": 444985}},
	{"gnn/flickr_adj", 7575, 7575, 479476, spread{7575, []int64{4, 4}, 512}, spread{7575, []int64{1, 1}, 1024}, map[string]int64{"A A'": 33180179, "A A": 33180179, "A + A'": 479476, "A * A'": 479476}},
	{"graphs/cit-Cora-konect", 23166, 23166, 91500, spread{21201, []int64{2, 8}, 512}, spread{19633, []int64{4, 16}, 512}, map[string]int64{"A A'": 2178901, "A A": 310325, "A + A'": 178314, "A * A'": 4686, "A A A": 821356}},
	{"graphs/cit-HepPh", 34546, 34546, 421578, spread{32158, []int64{2, 4}, 512}, spread{30366, []int64{4, 4}, 512}, map[string]int64{"A A'": 13898034, "A A": 3713328, "A + A'": 841798, "A * A'": 1358, "A A A": 17162628}},
	{"graphs/gemsec-athletes", 13866, 13866, 173669, spread{13866, []int64{4, 4}, 512}, spread{13866, []int64{2, 2}, 1024}, map[string]int64{"A A'": 3777222, "A A": 3777222, "A + A'": 173669, "A * A'": 173669, "A A A": 33999419}},
	{"graphs/musae-facebook", 22470, 22470, 341825, spread{22470, []int64{4, 4}, 512}, spread{22470, []int64{4, 4}, 1024}, map[string]int64{"A A'": 6531650, "A A": 6531650, "A + A'": 341825, "A * A'": 341825}},
	{"graphs/musae-git", 37700, 37700, 578006, spread{37700, []int64{32, 32}, 512}, spread{}, map[string]int64{"A A'": 191784668, "A A": 191784668, "A + A'": 578006, "A * A'": 578006}},
	{"graphs/rgg_n_2_15_s0", 32768, 32768, 320480, spread{32766, []int64{1, 1}, 8}, spread{32766, []int64{1, 1}, 16}, map[string]int64{"A A'": 912940, "A A": 912940, "A + A'": 320480, "A * A'": 320480, "A A A": 1771814}},
	{"graphs/soc-epinions", 26588, 26588, 200240, spread{26588, []int64{8, 8}, 512}, spread{26588, []int64{4, 4}, 512}, map[string]int64{"A A'": 6491132, "A A": 6491132, "A + A'": 200240, "A * A'": 200240, "A A A": 68354300}},
	{"graphs/web-indochina-2004", 11358, 11358, 95212, spread{11358, []int64{4, 4}, 256}, spread{11358, []int64{4, 4}, 512}, map[string]int64{"A A'": 951218, "A A": 951218, "A + A'": 95212, "A * A'": 95212, "A A A": 8328676}},
	{"hypergraph/NDC-classes", 49724, 1161, 156185, spread{49724, []int64{2, 8}, 512}, spread{}, map[string]int64{"A' A": 13605, "A + permuted": 308164, "A * permuted": 4206}},
	{"hypergraph/congress-bills", 260851, 1718, 954262, spread{260851, []int64{4, 2}, 256}, spread{}, map[string]int64{"A' A": 851582, "A + permuted": 1903587, "A * permuted": 4937}},
	{"lp/miplib3_air03", 124, 10757, 91028, spread{124, []int64{2, 1}, 512}, spread{}, map[string]int64{"A A'": 9502, "A' A": 64180075, "A + permuted": 170842, "A * permuted": 11214}},
	{"lp/miplib3_arki001", 1048, 1388, 20439, spread{1048, []int64{4, 2}, 512}, spread{}, map[string]int64{"A A'": 55260, "A' A": 1118104, "A + permuted": 40461, "A * permuted": 417}},
	{"lp/miplib3_nw04", 36, 87482, 636666, spread{36, []int64{2, 1}, 512}, spread{}, map[string]int64{"A A'": 1212, "A + permuted": 1137093, "A * permuted": 136239}},
	{"lp/netlib_czprob", 929, 3523, 10669, spread{927, []int64{16, 1}, 128}, spread{}, map[string]int64{"A A'": 15071, "A' A": 1018721, "A + permuted": 21326, "A * permuted": 12}},
	{"lp/netlib_d2q06c", 2171, 5167, 32417, spread{2171, []int64{2, 2}, 256}, spread{}, map[string]int64{"A A'": 56153, "A' A": 285265, "A + permuted": 64628, "A * permuted": 206}},
	{"lp/netlib_fit2p", 3000, 13525, 50284, spread{3000, []int64{1, 512}, 512}, spread{}, map[string]int64{"A A'": 9000000, "A' A": 393721, "A + permuted": 77283, "A * permuted": 23285}},
	{"lp/netlib_pilot87", 2030, 4883, 73152, spread{2030, []int64{4, 2}, 512}, spread{}, map[string]int64{"A A'": 238624, "A' A": 1523227, "A + permuted": 145018, "A * permuted": 1286}},
	{"lp/netlib_woodw", 1098, 8405, 37474, spread{1098, []int64{16, 1}, 256}, spread{}, map[string]int64{"A A'": 41940, "A' A": 11311513, "A + permuted": 74796, "A * permuted": 152}},
	{"power/case13659pegase_Bdc", 13659, 13659, 50909, spread{13659, []int64{2, 2}, 512}, spread{13659, []int64{2, 2}, 512}, map[string]int64{"A A'": 165209, "A A": 165209, "A + A'": 50909, "A * A'": 50909, "A A A": 374695}},
	{"power/case6515rte_Bdc", 6515, 6515, 22723, spread{6515, []int64{1, 1}, 512}, spread{6515, []int64{1, 1}, 512}, map[string]int64{"A A'": 65247, "A A": 65247, "A + A'": 22723, "A * A'": 22723, "A A A": 146805}},
	{"pruned/squeezenet_fire7_conv1x1_1", 48, 384, 9205, spread{48, []int64{1, 1}, 1024}, spread{}, map[string]int64{"A A'": 2304, "A' A": 147454, "A + permuted": 13485, "A * permuted": 4925}},
	{"qp/mm_QSHIP12L_A", 6578, 5427, 21597, spread{6469, []int64{8, 1}, 128}, spread{}, map[string]int64{"A A'": 60155, "A' A": 423715, "A + permuted": 43185, "A * permuted": 9}},
	{"suitesparse/G65", 8000, 8000, 32000, spread{8000, []int64{1, 1}, 32}, spread{8000, []int64{1, 1}, 64}, map[string]int64{"A A'": 72000, "A A": 72000, "A + A'": 32000, "A * A'": 32000, "A A A": 128000}},
	{"suitesparse/G67", 10000, 10000, 40000, spread{10000, []int64{1, 1}, 32}, spread{10000, []int64{1, 1}, 64}, map[string]int64{"A A'": 90000, "A A": 90000, "A + A'": 40000, "A * A'": 40000, "A A A": 160000}},
	{"suitesparse/bayer10", 13436, 13436, 94926, spread{13436, []int64{2, 2}, 512}, spread{13436, []int64{2, 2}, 512}, map[string]int64{"A A'": 541398, "A A": 413731, "A + A'": 189609, "A * A'": 243, "A A A": 1433423}},
	{"suitesparse/bcspwr10", 5300, 5300, 21842, spread{5300, []int64{1, 1}, 512}, spread{5300, []int64{1, 1}, 512}, map[string]int64{"A A'": 60498, "A A": 60498, "A + A'": 21842, "A * A'": 21842, "A A A": 130794}},
	{"suitesparse/collins_15NN", 1000, 1000, 16492, spread{1000, []int64{1, 1}, 8}, spread{1000, []int64{1, 1}, 16}, map[string]int64{"A A'": 35054, "A A": 35054, "A + A'": 16492, "A * A'": 16492, "A A A": 52626}},
	{"suitesparse/dataset20mfeatpixel_10NN", 2000, 2000, 27932, spread{2000, []int64{1, 1}, 256}, spread{2000, []int64{1, 1}, 512}, map[string]int64{"A A'": 145566, "A A": 145566, "A + A'": 27932, "A * A'": 27932, "A A A": 380960}},
	{"suitesparse/mnist_test_norm_10NN", 10000, 10000, 145600, spread{10000, []int64{1, 1}, 512}, spread{10000, []int64{1, 1}, 1024}, map[string]int64{"A A'": 1139346, "A A": 1139346, "A + A'": 145600, "A * A'": 145600, "A A A": 5143606}},
}
