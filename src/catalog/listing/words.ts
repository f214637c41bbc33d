/** Normalizes a name for comparison: `starting_after`, `startingAfter` and `page[starting_after]` end alike. */
export const plainName = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");

/** `order_lines` for `orderLines` and `order-lines`. */
export const snake = (name: string) =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "");

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

/** Parameters by their role, in the form of `plainName`. */
export const PARAMETERS = {
  page: words(
    "page pagenumber pageno pagenum pageindex currentpage pg paginationpage paginationpagenumber pagestart",
  ),
  size: words(
    "perpage pagesize limit size count maxresults pagelimit top maxitems take rows resultsperpage itemsperpage numresults maxrecords recordsperpage rpp pagelen pagelength resultcount paginationlimit paginationpagesize pageperpage pagecount max perpagecount maxpagesize paginationperpage first numitems limitcount maxcount n nb num",
  ),
  offset: words(
    "offset skip start startat startindex pageoffset startposition startrow paginationoffset from firstresult startrecord startitem resultoffset",
  ),
  cursor: words(
    "cursor nextcursor pagecursor pagetoken nextpagetoken nexttoken nextpage continuationtoken continuation continue after startingafter startafter pageafter afterid afterkey aftercursor marker startcursor nextkey scrollid bookmark exclusivestartkey lastkey startkey startingtoken paginationtoken paginationkey lastevaluatedkey skiptoken lastid fromid sinceid minid pagestate nextmarker nextid resumetoken batchtoken pagingtoken pagekey resultcursor from since offset start next iterator",
  ),
  /** Backward pagination, or other pagination parameters. */
  other: words(
    "before endingbefore previous prev previouspage previoustoken pagebefore endcursor previouscursor prevcursor last paginate pagination paginated totalcount total includetotal includetotals includecount countonly withtotal counttotal",
  ),
} as const;

/** Response fields by what they say about pages. */
export const FIELDS = {
  cursor: words(
    "nextcursor nextpagetoken nexttoken nextpage continuationtoken continuation cursor endcursor nextmarker marker nextkey lastkey scrollid bookmark after nextoffset next nextstart nextid lastevaluatedkey pagetoken nextpagecursor cursornext paginationtoken nextpageid nextpagekey afterid aftercursor nextbatch lastid skiptoken pagestate iterator nextiterator nextpageoffset resumptiontoken nextpagestart paginationkey pagingtoken nextskiptoken resumetoken startingtoken pagekey continue nextstartkey nextstartindex nextstarttoken cursortoken",
  ),
  link: words(
    "next nexturl nextlink nextpageurl nexthref nextpageuri nextpagelink odatanextlink nextpage nextpagehref nexturi linknext nextpath href url uri",
  ),
  more: words(
    "hasmore hasnext hasnextpage more moreavailable hasmoreitems hasmoreresults ismore morepages hasmorepages hasmorerecords hasmoredata morerecords moredata moreitems ismoredata moreresults hasadditionalpages morelist nextpageavailable",
  ),
  last: words("islast last islastpage lastpage"),
  total: words(
    "total totalcount totalresults totalitems totalrecords totalelements totalrows totalentries totalnumber totalsize totalhits numfound totalobjects resultstotal totalresultcount totalnumberofitems totalnumberofrecords",
  ),
  /** They show that there are pages, but not how to get them. */
  hint: words(
    "page pages totalpages pagecount perpage pagesize currentpage pagenumber lastpage limit offset numpages skip pageindex pagetotal previous prev prevpage previouspage prevcursor previouscursor nextpagenumber nextoffset",
  ),
} as const;

/** Fields that contain pagination metadata. */
export const CONTAINERS = words(
  "meta metadata pagination paging pageinfo page pages links cursors cursor next responsemetadata paginationinfo pagingmetadata pagingmeta paginationmetadata listmetadata info resultinfo query nav navigation paginator listmeta responsemeta resultmeta additionaldata pager pagingdata pagedetails pagingdetails paginationdetails linkset resultset paginationmeta resultsmeta pagingcontext listinfo response data result results envelope",
);

/** Lists that belong to the response and not to the requested items. */
export const ASIDE = words(
  "errors error warnings warning messages message links link included includes include facets aggregations meta expand notices fields columns schemas sort sorts filters breadcrumbs relatedlinks hints suggestions highlights failures problems headers capabilities scopes tags notifications debug logs params attachments schema debugger ranges buckets facetcounts notes alerts",
);

/** Generic names of lists; the surest first. */
export const WRAPPERS = words(
  "data items results result records values value entries rows content list objects elements resources collection hits nodes edges member hydramember docs documents entities response payload embedded body responsedata datalist resultlist itemlist",
);

/** The singular of a word. */
export const singular = (name: string) =>
  plainName(name)
    .replace(/ies$/, "y")
    .replace(/(ss|sh|ch|x|z)es$/, "$1")
    .replace(/([^s])s$/, "$1");
